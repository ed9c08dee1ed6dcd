// What the official Go client of MCP, unmodified, does with resources: prints it as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const file = "venue://docs/a.txt"

type seen struct {
	Version   string   `json:"version"`
	Listed    []string `json:"listed"`
	Templates []string `json:"templates"`
	Read      string   `json:"read"`
	Completed []string `json:"completed"`
	Missing   int64    `json:"missing"`
	Updated   []string `json:"updated"`
	Changed   string   `json:"changed,omitempty"`
}

func main() {
	version, folder, server, args := os.Args[1], os.Args[2], os.Args[3], os.Args[4:]
	found, err := look(version, folder, server, args)
	if err != nil {
		log.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(found)
}

func look(version, folder, server string, args []string) (*seen, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	updates := make(chan string, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, request *mcp.ResourceUpdatedNotificationRequest) {
			updates <- request.Params.URI
		},
	})
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: server}
	if len(args) > 0 {
		transport = &mcp.CommandTransport{Command: exec.Command(server, args...)}
	}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	found := &seen{Version: session.InitializeResult().ProtocolVersion, Updated: []string{}}
	if err := find(ctx, session, found); err != nil {
		return nil, err
	}
	// Over HTTP earlier revisions have no stream to tell of changes.
	if version != "2026-07-28" && len(args) == 0 {
		return found, nil
	}
	if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: file}); err != nil {
		return nil, err
	}
	uri, err := hear(ctx, updates, filepath.Join(folder, "a.txt"))
	if err != nil {
		return nil, err
	}
	found.Updated = append(found.Updated, uri)
	if found.Changed, err = read(ctx, session, file); err != nil {
		return nil, err
	}
	return found, session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: file})
}

// Subscribe of this client does not wait until the server listens, so the file is changed until it does.
func hear(ctx context.Context, updates <-chan string, path string) (string, error) {
	for {
		if err := os.WriteFile(path, []byte("new"), 0o644); err != nil {
			return "", err
		}
		select {
		case uri := <-updates:
			return uri, nil
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return "", errors.New("nothing was told of the change")
		}
	}
}

func find(ctx context.Context, session *mcp.ClientSession, found *seen) error {
	for resource, err := range session.Resources(ctx, nil) {
		if err != nil {
			return err
		}
		found.Listed = append(found.Listed, resource.URI)
	}
	for template, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return err
		}
		found.Templates = append(found.Templates, template.URITemplate)
	}
	var err error
	if found.Read, err = read(ctx, session, file); err != nil {
		return err
	}
	completed, err := session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: found.Templates[0]},
		Argument: mcp.CompleteParamsArgument{Name: "path", Value: "s"},
		Context:  &mcp.CompleteContext{Arguments: map[string]string{"root": "docs"}},
	})
	if err != nil {
		return err
	}
	found.Completed = completed.Completion.Values
	_, err = read(ctx, session, "venue://docs/none")
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) {
		return errors.New("a missing file was read")
	}
	found.Missing = refused.Code
	return nil
}

func read(ctx context.Context, session *mcp.ClientSession, uri string) (string, error) {
	result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return result.Contents[0].Text, nil
}
