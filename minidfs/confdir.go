package minidfs

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// property is one entry of a Hadoop site file.
type property struct {
	XMLName xml.Name `xml:"property"`
	Name    string   `xml:"name"`
	Value   string   `xml:"value"`
}

// writeSite writes a Hadoop site file (core-site.xml, hdfs-site.xml) with the properties in order of their names.
func writeSite(path string, properties map[string]string) error {
	var site struct {
		XMLName    xml.Name `xml:"configuration"`
		Properties []property
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		site.Properties = append(site.Properties, property{Name: name, Value: properties[name]})
	}
	text, err := xml.MarshalIndent(site, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(xml.Header), append(text, '\n')...), 0o644)
}

// WriteConf writes core-site.xml and hdfs-site.xml for other clients into dir, which is made when missing: point
// HADOOP_CONF_DIR at it.
func (c *Cluster) WriteConf(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	core, hdfs := c.siteProperties()
	if err := writeSite(filepath.Join(dir, "core-site.xml"), core); err != nil {
		return err
	}
	return writeSite(filepath.Join(dir, "hdfs-site.xml"), hdfs)
}

// ConfDir is a folder with core-site.xml and hdfs-site.xml for other clients, removed by Close.
func (c *Cluster) ConfDir() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return "", fmt.Errorf("minidfs: ConfDir: %w", ErrClosed)
	case c.confDir != "":
		return c.confDir, nil
	}
	dir, err := os.MkdirTemp("", "minidfs-conf-")
	if err != nil {
		return "", err
	}
	if err := c.WriteConf(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	c.confDir = dir
	return dir, nil
}

// siteProperties are the contents of core-site.xml and hdfs-site.xml: where the cluster is, and the keys that were set.
func (c *Cluster) siteProperties() (core, hdfs map[string]string) {
	core = map[string]string{"fs.defaultFS": c.URI()}
	hdfs = map[string]string{
		"dfs.client.use.datanode.hostname": "false",
		"dfs.replication":                  strconv.Itoa(int(c.conf.replication())),
	}
	if c.conf.grouped() {
		service := c.service()
		var ids []string
		for i, m := range c.members {
			ids = append(ids, m.ID)
			hdfs["dfs.namenode.rpc-address."+service+"."+m.ID] = c.addrs[i]
		}
		hdfs["dfs.nameservices"] = service
		hdfs["dfs.ha.namenodes."+service] = strings.Join(ids, ",")
		hdfs["dfs.client.failover.proxy.provider."+service] = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
		hdfs["dfs.ha.fencing.methods"] = "shell(true)" // of haadmin -failover: the group fences by itself
	}
	for name, value := range c.conf.settings.given {
		if strings.HasPrefix(name, "dfs.") {
			hdfs[name] = value
		} else {
			core[name] = value
		}
	}
	return core, hdfs
}
