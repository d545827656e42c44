package namespace

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// scramble fills every exported field with random values, nil and empty ones among them.
func scramble(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			scramble(r, v.Field(i))
		}
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			scramble(r, v.Elem())
		}
	case reflect.Slice:
		if n := r.IntN(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				scramble(r, v.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			scramble(r, v.Index(i))
		}
	case reflect.String:
		b := make([]byte, r.IntN(9))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		v.SetString(string(b))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	default:
		panic("no value for a " + v.Kind().String())
	}
}

func randomOpOf(r *rand.Rand, k Kind) *Op {
	o := &Op{Args: kindTable[k].make()}
	scramble(r, reflect.ValueOf(&o.Time).Elem())
	scramble(r, reflect.ValueOf(&o.Caller).Elem())
	scramble(r, reflect.ValueOf(&o.ClientID).Elem())
	scramble(r, reflect.ValueOf(&o.CallID).Elem())
	scramble(r, reflect.ValueOf(o.Args).Elem())
	return o
}

func TestCodecRoundTrip(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	for k := Kind(1); k < kindEnd; k++ {
		t.Run(k.String(), func(t *testing.T) {
			for range 200 {
				op := randomOpOf(r, k)
				b := op.AppendTo([]byte("before"))
				got, err := DecodeOp(b[len("before"):])
				require.NoError(t, err)
				require.Equal(t, op, got, "seed %d", seed)
			}
		})
	}
}

func TestCodecRefuses(t *testing.T) {
	good := (&Op{Time: 5, Args: &Mkdirs{Path: "/a", Perm: 0o755}}).AppendTo(nil)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"nothing":      {nil, "bad op of 0 bytes: it ends in the middle of a value"},
		"version":      {append([]byte{9}, good[1:]...), "op of version 9, this program knows version 1"},
		"kind":         {append([]byte{1, 200}, good[2:]...), "op of unknown kind 200"},
		"short":        {good[:len(good)-1], "bad op of 9 bytes: it ends in the middle of a value"},
		"long":         {append(append([]byte{}, good...), 0), "bad op of 11 bytes: bytes are left behind its end"},
		"no bool":      {append(append([]byte{}, good[:len(good)-1]...), 2), "bad op of 10 bytes: 2 is neither true nor false"},
		"length of it": {append(append([]byte{}, good[:4]...), 0xff, 0xff, 0xff, 0xff, 0x7f), "bad op of 9 bytes: it ends in the middle of a value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeOp(c.b)
			require.EqualError(t, err, c.want)
		})
	}
}

func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := Kind(1); k < kindEnd; k++ {
		require.Equal(t, k, kindTable[k].make().kind())
		require.False(t, seen[k.String()], k.String())
		seen[k.String()] = true
	}
	require.Equal(t, "Kind(99)", Kind(99).String())
}

func FuzzDecodeOp(f *testing.F) {
	r := rand.New(rand.NewPCG(2, 0))
	for k := Kind(1); k < kindEnd; k++ {
		f.Add(randomOpOf(r, k).AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		op, err := DecodeOp(b)
		if err != nil {
			return
		}
		again, err := DecodeOp(op.AppendTo(nil))
		require.NoError(t, err)
		require.Equal(t, op, again)
	})
}
