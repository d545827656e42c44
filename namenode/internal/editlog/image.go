package editlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

const (
	imageMagic     = "MDFSIMAG"
	imageHeaderLen = 36
	imageChunkLen  = 64 << 10
)

// An imageHeader begins an image: which state it holds.
type imageHeader struct {
	identity uint32 // Identity.sum of the directory
	seq      uint64 // of the last op in the state
	txid     uint64 // of the state
}

// An imageWriter cuts what is written into chunks with a checksum each. A chunk is u32 length, u32 checksum, bytes;
// the checksum goes on from that of the chunk before, so that chunks cannot change places. An empty chunk ends it.
type imageWriter struct {
	w   io.Writer
	buf []byte // header and bytes of the chunk being filled
	sum uint32
}

const chunkHeaderLen = 8

func newImageWriter(w io.Writer, h imageHeader) (*imageWriter, error) {
	b := make([]byte, 0, imageHeaderLen)
	b = append(b, imageMagic...)
	b = binary.BigEndian.AppendUint32(b, layoutVersion)
	b = binary.BigEndian.AppendUint32(b, h.identity)
	b = binary.BigEndian.AppendUint64(b, h.seq)
	b = binary.BigEndian.AppendUint64(b, h.txid)
	sum := crc32.Checksum(b, castagnoli)
	b = binary.BigEndian.AppendUint32(b, sum)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	return &imageWriter{w: w, sum: sum, buf: make([]byte, chunkHeaderLen, 512)}, nil
}

func (w *imageWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n := min(len(p), chunkHeaderLen+imageChunkLen-len(w.buf))
		w.buf = append(w.buf, p[:n]...)
		p = p[n:]
		written += n
		if len(w.buf) == chunkHeaderLen+imageChunkLen {
			if err := w.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// flush writes the chunk being filled.
func (w *imageWriter) flush() error {
	data := w.buf[chunkHeaderLen:]
	binary.BigEndian.PutUint32(w.buf[0:], uint32(len(data)))
	w.sum = crc32.Update(w.sum, castagnoli, w.buf[:4])
	w.sum = crc32.Update(w.sum, castagnoli, data)
	binary.BigEndian.PutUint32(w.buf[4:], w.sum)
	_, err := w.w.Write(w.buf)
	w.buf = w.buf[:chunkHeaderLen]
	return err
}

// finish writes what is left and the end.
func (w *imageWriter) finish() error {
	if len(w.buf) > chunkHeaderLen {
		if err := w.flush(); err != nil {
			return err
		}
	}
	return w.flush()
}

// An imageReader gives the bytes that went into an imageWriter, checked, and io.EOF only behind an intact end.
type imageReader struct {
	header imageHeader

	r     io.Reader
	sum   uint32
	chunk []byte // unread bytes of the present chunk
	buf   []byte
	at    int64 // offset of the present chunk
	next  int64 // of the one behind it
	err   error
}

var errImageShort = errors.New("image is cut short")

func newImageReader(r io.Reader) (*imageReader, error) {
	b := make([]byte, imageHeaderLen)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, shortImage(err)
	}
	sum := crc32.Checksum(b[:imageHeaderLen-4], castagnoli)
	if string(b[:8]) != imageMagic || binary.BigEndian.Uint32(b[32:]) != sum {
		return nil, errors.New("checksum of the image header does not match")
	}
	if v := binary.BigEndian.Uint32(b[8:]); v != layoutVersion {
		return nil, fmt.Errorf("image has layout version %d, this program knows %d", v, layoutVersion)
	}
	return &imageReader{
		header: imageHeader{
			identity: binary.BigEndian.Uint32(b[12:]),
			seq:      binary.BigEndian.Uint64(b[16:]),
			txid:     binary.BigEndian.Uint64(b[24:]),
		},
		r: r, sum: sum, next: imageHeaderLen,
	}, nil
}

func shortImage(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errImageShort
	}
	return err
}

func (r *imageReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.chunk) == 0 {
		if r.err == nil {
			r.chunk, r.err = r.readChunk()
		}
		if r.err != nil {
			return 0, r.err
		}
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

// readChunk gives the next chunk, io.EOF for the end.
func (r *imageReader) readChunk() ([]byte, error) {
	r.at = r.next
	var head [chunkHeaderLen]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, shortImage(err)
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n > imageChunkLen {
		return nil, fmt.Errorf("chunk of %d bytes cannot be", n)
	}
	r.buf = slices.Grow(r.buf[:0], int(n))
	data := r.buf[:n]
	if _, err := io.ReadFull(r.r, data); err != nil {
		return nil, shortImage(err)
	}
	r.sum = crc32.Update(r.sum, castagnoli, head[:4])
	r.sum = crc32.Update(r.sum, castagnoli, data)
	if r.sum != binary.BigEndian.Uint32(head[4:]) {
		return nil, errors.New("checksum of the chunk does not match")
	}
	r.next += chunkHeaderLen + int64(n)
	if n > 0 {
		return data, nil
	}
	r.at = r.next
	if extra, err := io.ReadFull(r.r, head[:1]); extra != 0 || !errors.Is(err, io.EOF) {
		if extra == 0 {
			return nil, err
		}
		return nil, errors.New("there are bytes behind the end of the image")
	}
	return nil, io.EOF
}

// drain checks what the state machine has left unread.
func (r *imageReader) drain() error {
	_, err := io.Copy(io.Discard, r)
	return err
}
