// Package transfer is the codec of HDFS's DataTransferProtocol, version 28: how blocks travel between a client and a
// datanode and from one datanode to the next. Both ends use it. It holds no policy, starts no goroutine, keeps no state
// between connections.
//
// Its nouns:
//
//   - an operation opens every exchange: version (int16), [Op] (one byte), a varint-delimited message;
//   - a [Packet] carries data: length, header, checksums and bytes, read into one buffer that can be written on as it is;
//     a [PacketBuffer] is where a sender builds one;
//   - an [Ack] answers each packet of a write, one reply for each datanode of the pipeline;
//   - a [Checksum] is a type and the size of a chunk; a [Composer] joins sums of pieces into the sum of the whole.
//
// A packet on the wire, all integers big-endian:
//
//	uint32  4 + length of sums + length of data
//	uint16  length of the header
//	        header (PacketHeaderProto: 25 bytes, 27 with the sync flag)
//	        sums, 4 bytes for each chunk of data (none with the NULL type)
//	        data
//
// Every length is checked before memory is set aside for it. What cannot be decoded is an [ErrMalformed]; other errors
// are the connection's.
package transfer
