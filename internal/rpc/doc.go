// Package rpc is Hadoop RPC version 9, both ends: a Server that carries calls of several Protocols on one port, and a
// Client that multiplexes calls on one connection.
//
// Nouns: a Protocol is a named table of Methods; a Call is one request as the server has decoded it; a Hook sees every
// Call before its method and may stand in for it; a Server and a Client move Calls over connections; a ConnError tells
// a broken connection from an answer.
//
// # The wire
//
// A connection begins with the bytes "hrpc", 9, the service class and the auth protocol (0 simple, 0xDF SASL). Then
// come frames both ways: a big-endian 32-bit length and that many bytes, each part inside led by its own length as a
// varint.
//
//	request   RpcRequestHeaderProto, RequestHeaderProto, the method's request
//	context   RpcRequestHeaderProto (call id -3), IpcConnectionContextProto; has no answer
//	ping      RpcRequestHeaderProto (call id -4); has no answer
//	sasl      RpcRequestHeaderProto (call id -33), RpcSaslProto; both ways
//	answer    RpcResponseHeaderProto, and when it says SUCCESS the method's response (a void one is the byte 00)
//
// Calls of one connection run concurrently, and answers leave in the order in which they are ready. A frame that breaks
// the protocol gets the answer that Hadoop gives, and the connection ends.
//
// # Goroutines
//
// Server: one per listener accepts. Workers do the rest: a worker reads a connection until it has a call, passes the
// reading on to another worker, runs the call itself and writes the answer. A connection thus occupies one worker for
// reading and one for each call that runs. A Quick method keeps the reading while it runs alone, which saves a serial
// caller the change of goroutine. Server.Close ends all workers and waits.
//
// Client: one goroutine dials; one reads answers and one sends pings for each connection; one writes when a caller could
// not within a moment. They end with the connection, and Client.Close waits for them.
package rpc
