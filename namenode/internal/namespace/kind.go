package namespace

import "fmt"

// Kind tells the ops apart. The numbers are part of the journal's format: append only.
type Kind uint8

// The kinds of ops.
const (
	KindSetParams Kind = iota + 1
	KindStartSegment
	KindMkdirs
	KindCreate
	KindAppend
	KindAddBlock
	KindAbandonBlock
	KindComplete
	KindFsync
	KindBumpGenStamp
	KindUpdatePipeline
	KindDelete
	KindRename
	KindRename2
	KindSetPermission
	KindSetOwner
	KindSetTimes
	KindTouchAccess
	KindSetReplication
	KindSetStoragePolicy
	KindTruncate
	KindConcat
	KindSetXAttr
	KindRemoveXAttr
	KindAllowSnapshot
	KindDisallowSnapshot
	KindCreateSnapshot
	KindRenameSnapshot
	KindDeleteSnapshot
	KindStartRecovery
	KindCloseFile
	KindCommitBlockSync
	kindEnd
)

// kindRow is what the package knows about a kind.
type kindRow struct {
	name  string      // of the counters
	make  func() Args // an empty one, to decode into
	retry bool        // at most once: a repeated call gets the first answer
}

var kindTable = [kindEnd]kindRow{
	KindSetParams:        {"setParams", func() Args { return new(SetParams) }, false},
	KindStartSegment:     {"startSegment", func() Args { return new(StartSegment) }, false},
	KindMkdirs:           {"mkdirs", func() Args { return new(Mkdirs) }, false},
	KindCreate:           {"create", func() Args { return new(Create) }, true},
	KindAppend:           {"append", func() Args { return new(Append) }, true},
	KindAddBlock:         {"addBlock", func() Args { return new(AddBlock) }, false},
	KindAbandonBlock:     {"abandonBlock", func() Args { return new(AbandonBlock) }, false},
	KindComplete:         {"complete", func() Args { return new(Complete) }, false},
	KindFsync:            {"fsync", func() Args { return new(Fsync) }, false},
	KindBumpGenStamp:     {"updateBlockForPipeline", func() Args { return new(BumpGenStamp) }, false},
	KindUpdatePipeline:   {"updatePipeline", func() Args { return new(UpdatePipeline) }, true},
	KindDelete:           {"delete", func() Args { return new(Delete) }, true},
	KindRename:           {"rename", func() Args { return new(Rename) }, true},
	KindRename2:          {"rename2", func() Args { return new(Rename2) }, true},
	KindSetPermission:    {"setPermission", func() Args { return new(SetPermission) }, false},
	KindSetOwner:         {"setOwner", func() Args { return new(SetOwner) }, false},
	KindSetTimes:         {"setTimes", func() Args { return new(SetTimes) }, false},
	KindTouchAccess:      {"touchAccess", func() Args { return new(TouchAccess) }, false},
	KindSetReplication:   {"setReplication", func() Args { return new(SetReplication) }, false},
	KindSetStoragePolicy: {"setStoragePolicy", func() Args { return new(SetStoragePolicy) }, false},
	KindTruncate:         {"truncate", func() Args { return new(Truncate) }, false},
	KindConcat:           {"concat", func() Args { return new(Concat) }, true},
	KindSetXAttr:         {"setXAttr", func() Args { return new(SetXAttr) }, true},
	KindRemoveXAttr:      {"removeXAttr", func() Args { return new(RemoveXAttr) }, true},
	KindAllowSnapshot:    {"allowSnapshot", func() Args { return new(AllowSnapshot) }, false},
	KindDisallowSnapshot: {"disallowSnapshot", func() Args { return new(DisallowSnapshot) }, false},
	KindCreateSnapshot:   {"createSnapshot", func() Args { return new(CreateSnapshot) }, true},
	KindRenameSnapshot:   {"renameSnapshot", func() Args { return new(RenameSnapshot) }, true},
	KindDeleteSnapshot:   {"deleteSnapshot", func() Args { return new(DeleteSnapshot) }, true},
	KindStartRecovery:    {"startRecovery", func() Args { return new(StartRecovery) }, false},
	KindCloseFile:        {"closeFile", func() Args { return new(CloseFile) }, false},
	KindCommitBlockSync:  {"commitBlockSynchronization", func() Args { return new(CommitBlockSync) }, false},
}

// String gives the name under which counters show the kind: that of the call where there is one.
func (k Kind) String() string {
	if k > 0 && k < kindEnd {
		return kindTable[k].name
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Kind says which kind of op it is.
func (o *Op) Kind() Kind { return o.Args.kind() }

// KindName gives Kind as the journal's counters name it.
func (o *Op) KindName() string { return o.Kind().String() }

func (*SetParams) kind() Kind        { return KindSetParams }
func (*StartSegment) kind() Kind     { return KindStartSegment }
func (*Mkdirs) kind() Kind           { return KindMkdirs }
func (*Create) kind() Kind           { return KindCreate }
func (*Append) kind() Kind           { return KindAppend }
func (*AddBlock) kind() Kind         { return KindAddBlock }
func (*AbandonBlock) kind() Kind     { return KindAbandonBlock }
func (*Complete) kind() Kind         { return KindComplete }
func (*Fsync) kind() Kind            { return KindFsync }
func (*BumpGenStamp) kind() Kind     { return KindBumpGenStamp }
func (*UpdatePipeline) kind() Kind   { return KindUpdatePipeline }
func (*Delete) kind() Kind           { return KindDelete }
func (*Rename) kind() Kind           { return KindRename }
func (*Rename2) kind() Kind          { return KindRename2 }
func (*SetPermission) kind() Kind    { return KindSetPermission }
func (*SetOwner) kind() Kind         { return KindSetOwner }
func (*SetTimes) kind() Kind         { return KindSetTimes }
func (*TouchAccess) kind() Kind      { return KindTouchAccess }
func (*SetReplication) kind() Kind   { return KindSetReplication }
func (*SetStoragePolicy) kind() Kind { return KindSetStoragePolicy }
func (*Truncate) kind() Kind         { return KindTruncate }
func (*Concat) kind() Kind           { return KindConcat }
func (*SetXAttr) kind() Kind         { return KindSetXAttr }
func (*RemoveXAttr) kind() Kind      { return KindRemoveXAttr }
func (*AllowSnapshot) kind() Kind    { return KindAllowSnapshot }
func (*DisallowSnapshot) kind() Kind { return KindDisallowSnapshot }
func (*CreateSnapshot) kind() Kind   { return KindCreateSnapshot }
func (*RenameSnapshot) kind() Kind   { return KindRenameSnapshot }
func (*DeleteSnapshot) kind() Kind   { return KindDeleteSnapshot }
func (*StartRecovery) kind() Kind    { return KindStartRecovery }
func (*CloseFile) kind() Kind        { return KindCloseFile }
func (*CommitBlockSync) kind() Kind  { return KindCommitBlockSync }
