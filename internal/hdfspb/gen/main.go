// Command gen compiles the .proto files of the folder above into Go, without protoc: the parser and the code
// generator are libraries, pinned by this module's go.sum, so that the output is the same on every machine.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// prefix is the import path of the files: unique, because Go registers every file path of a program in one table.
const prefix = "minidfs/"

func main() {
	if err := run(".."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	protos, err := filepath.Glob(filepath.Join(dir, "*.proto"))
	if err != nil {
		return err
	}
	var names []string
	sources := map[string]string{}
	for _, p := range protos {
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name := prefix + filepath.Base(p)
		names = append(names, name)
		sources[name] = string(text)
	}
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return err
	}

	// The generator wants imports before importers.
	var ordered []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		f := files.FindFileByPath(name)
		imports := f.Imports()
		for i := range imports.Len() {
			add(imports.Get(i).Path())
		}
		ordered = append(ordered, protodesc.ToFileDescriptorProto(f))
	}
	for _, n := range names {
		add(n)
	}

	params := "paths=source_relative"
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: names, Parameter: &params, ProtoFile: ordered,
	})
	if err != nil {
		return err
	}
	for _, f := range plugin.Files {
		if f.Generate {
			internal_gengo.GenerateFile(plugin, f)
		}
	}
	for _, f := range plugin.Response().File {
		out := filepath.Join(dir, filepath.Base(f.GetName()))
		if err := os.WriteFile(out, []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
