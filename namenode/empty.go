package namenode

import (
	"context"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// emptyMethods are the questions about features that are off whose honest answer is "none".
func (n *NameNode) emptyMethods() []rpc.Method {
	return []rpc.Method{
		empty[hdfspb.GetDelegationTokenRequestProto]("getDelegationToken", &hdfspb.GetDelegationTokenResponseProto{}),
		empty[hdfspb.GetDataEncryptionKeyRequestProto]("getDataEncryptionKey", &hdfspb.GetDataEncryptionKeyResponseProto{}),
		empty[hdfspb.GetEZForPathRequestProto]("getEZForPath", &hdfspb.GetEZForPathResponseProto{}),
		empty[hdfspb.ListEncryptionZonesRequestProto]("listEncryptionZones", &hdfspb.ListEncryptionZonesResponseProto{HasMore: proto.Bool(false)}),
		empty[hdfspb.ListReencryptionStatusRequestProto]("listReencryptionStatus", &hdfspb.ListReencryptionStatusResponseProto{HasMore: proto.Bool(false)}),
		empty[hdfspb.ListCacheDirectivesRequestProto]("listCacheDirectives", &hdfspb.ListCacheDirectivesResponseProto{HasMore: proto.Bool(false)}),
		empty[hdfspb.ListCachePoolsRequestProto]("listCachePools", &hdfspb.ListCachePoolsResponseProto{HasMore: proto.Bool(false)}),
		empty[hdfspb.GetErasureCodingPoliciesRequestProto]("getErasureCodingPolicies", &hdfspb.GetErasureCodingPoliciesResponseProto{}),
		rpc.Handle("getErasureCodingPolicy", n.getErasureCodingPolicy).Quick(),
		empty[hdfspb.GetErasureCodingCodecsRequestProto]("getErasureCodingCodecs", &hdfspb.GetErasureCodingCodecsResponseProto{}),
		empty[hdfspb.GetECTopologyResultForPoliciesRequestProto]("getECTopologyResultForPolicies",
			&hdfspb.GetECTopologyResultForPoliciesResponseProto{Response: &hdfspb.ECTopologyVerifierResultProto{
				ResultMessage: proto.String("No erasure coding policy is given."), IsSupported: proto.Bool(true),
			}}),
	}
}

// empty makes a method with one answer.
func empty[Req, Resp any, PReq interface {
	*Req
	proto.Message
}, PResp interface {
	*Resp
	proto.Message
}](name string, answer PResp) rpc.Method {
	return rpc.Handle[Req, Resp, PReq, PResp](name, func(context.Context, *rpc.Call, *Req) (*Resp, error) {
		return (*Resp)(answer), nil
	}).Quick()
}

// getErasureCodingPolicy answers none, for a path that exists.
func (n *NameNode) getErasureCodingPolicy(_ context.Context, c *rpc.Call, req *hdfspb.GetErasureCodingPolicyRequestProto) (*hdfspb.GetErasureCodingPolicyResponseProto, error) {
	s, err := n.ns.Status(n.caller(c), req.GetSrc(), true)
	if err == nil && s == nil {
		err = dfs.Errorf(dfs.ClassFileNotFound, "Path not found: %s", req.GetSrc())
	}
	return &hdfspb.GetErasureCodingPolicyResponseProto{}, err
}
