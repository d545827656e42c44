import java.io.BufferedReader;
import java.io.FileReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.crypto.CryptoProtocolVersion;
import org.apache.hadoop.fs.ContentSummary;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.XAttr;
import org.apache.hadoop.fs.XAttrSetFlag;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.NameNodeProxies;
import org.apache.hadoop.hdfs.DFSUtilClient;
import org.apache.hadoop.hdfs.protocol.*;
import org.apache.hadoop.io.EnumSetWritable;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * args: uri file. Each line of the file is "user verb args...": a call of ClientProtocol, made as it stands. Prints the line,
 * then what was answered and by how many the transaction id grew. The namespace's transcript test replays the output.
 */
public class Transcript {
  static Configuration conf = new Configuration();
  static URI uri;
  static Map<String, ClientProtocol> nodes = new HashMap<>();
  static List<ExtendedBlock> blocks = new ArrayList<>();
  static Map<String, Long> ids = new HashMap<>();
  static Map<String, Long> times = new HashMap<>();
  static String pool = "BP-none";

  static ClientProtocol as(String user) throws Exception {
    ClientProtocol p = nodes.get(user);
    if (p == null) {
      p = UserGroupInformation.createRemoteUser(user).doAs((PrivilegedExceptionAction<ClientProtocol>) () ->
          NameNodeProxies.createProxy(conf, uri, ClientProtocol.class).getProxy());
      nodes.put(user, p);
    }
    return p;
  }

  static ExtendedBlock block(String s) {
    if (s.equals("null")) return null;
    if (s.startsWith("?")) { String[] f = s.substring(1).split(":"); return new ExtendedBlock(pool, (1L << 30) + Long.parseLong(f[0]), Long.parseLong(f[2]), Long.parseLong(f[1])); }
    String[] f = s.substring(1).split("/");
    ExtendedBlock b = new ExtendedBlock(blocks.get(Integer.parseInt(f[0]) - 1));
    if (f.length > 1) b.setNumBytes(Long.parseLong(f[1]));
    return b;
  }

  static long id(String s) throws Exception {
    if (!s.startsWith("id:")) return Long.parseLong(s);
    String path = s.substring(3);
    HdfsFileStatus st = as("root").getFileInfo(path);
    if (st != null) ids.put(path, st.getFileId());
    return ids.get(path);
  }

  static String perm(FsPermission p) { return String.format("%o", p.toShort() & 01777); }

  static String show(HdfsFileStatus s) {
    if (s == null) return "absent";
    if (s.isDirectory()) return "dir " + s.getFileId() + " " + perm(s.getPermission()) + " " + s.getOwner() + ":" + s.getGroup() + " kids=" + s.getChildrenNum() + " policy=" + s.getStoragePolicy() + (s.isSnapshotEnabled() ? " snapshottable" : "");
    return "file " + s.getFileId() + " " + perm(s.getPermission()) + " " + s.getOwner() + ":" + s.getGroup() + " len=" + s.getLen() + " repl=" + s.getReplication() + " bs=" + s.getBlockSize() + " policy=" + s.getStoragePolicy();
  }

  static String show(LocatedBlock b) {
    if (b == null) return "null";
    return b.getBlock().getLocalBlock() + "/" + b.getBlock().getNumBytes() + "@" + b.getStartOffset();
  }

  static String keep(LocatedBlock b) { if (b != null) blocks.add(new ExtendedBlock(b.getBlock())); return show(b); }

  static String xattr(XAttr x) { return x.getNameSpace() + "." + x.getName() + (x.getValue() == null ? "" : "=" + new String(x.getValue())); }

  static String xattrs(List<XAttr> l) { List<String> n = new ArrayList<>(); for (XAttr x : l) n.add(xattr(x)); Collections.sort(n); return n.toString(); }

  static XAttr parse(String s) {
    String[] kv = s.split("=", 2);
    XAttr.Builder b = new XAttr.Builder().setNameSpace(XAttr.NameSpace.valueOf(kv[0].substring(0, kv[0].indexOf('.')))).setName(kv[0].substring(kv[0].indexOf('.') + 1));
    if (kv.length > 1) b.setValue(kv[1].getBytes());
    return b.build();
  }

  static EnumSet<CreateFlag> flags(String s) { EnumSet<CreateFlag> f = EnumSet.noneOf(CreateFlag.class); for (String x : s.split("\\|")) f.add(CreateFlag.valueOf(x)); return f; }

  static String call(String user, String verb, String[] a) throws Exception {
    ClientProtocol nn = as(user);
    switch (verb) {
      case "mkdirs": return "" + nn.mkdirs(a[0], new FsPermission((short) Integer.parseInt(a[1], 8)), Boolean.parseBoolean(a[2]));
      case "create": return show(nn.create(a[0], new FsPermission((short) Integer.parseInt(a[1], 8)), a[2], new EnumSetWritable<>(flags(a[3])), Boolean.parseBoolean(a[4]), Short.parseShort(a[5]), Long.parseLong(a[6]), CryptoProtocolVersion.supported(), null, null));
      case "append": { LastBlockWithStatus l = nn.append(a[0], a[1], new EnumSetWritable<>(flags(a[2]))); return keep(l.getLastBlock()) + " " + show(l.getFileStatus()); }
      case "addBlock": return keep(nn.addBlock(a[0], a[1], block(a[2]), null, id(a[3]), null, EnumSet.noneOf(org.apache.hadoop.hdfs.AddBlockFlag.class)));
      case "abandonBlock": nn.abandonBlock(block(a[0]), id(a[1]), a[2], a[3]); return "ok";
      case "complete": return "" + nn.complete(a[0], a[1], block(a[2]), id(a[3]));
      case "fsync": nn.fsync(a[0], id(a[1]), a[2], Long.parseLong(a[3])); return "ok";
      case "updateBlockForPipeline": return keep(nn.updateBlockForPipeline(block(a[0]), a[1]));
      case "updatePipeline": nn.updatePipeline(a[0], block(a[1]), block(a[2]), new DatanodeID[0], new String[0]); return "ok";
      case "delete": return "" + nn.delete(a[0], Boolean.parseBoolean(a[1]));
      case "rename": return "" + nn.rename(a[0], a[1]);
      case "rename2": { List<Options.Rename> o = new ArrayList<>(); for (int i = 2; i < a.length; i++) o.add(Options.Rename.valueOf(a[i])); nn.rename2(a[0], a[1], o.toArray(new Options.Rename[0])); return "ok"; }
      case "setPermission": nn.setPermission(a[0], new FsPermission((short) Integer.parseInt(a[1], 8))); return "ok";
      case "setOwner": nn.setOwner(a[0], a[1].equals("-") ? null : a[1], a[2].equals("-") ? null : a[2]); return "ok";
      case "setTimes": nn.setTimes(a[0], Long.parseLong(a[1]), Long.parseLong(a[2])); return "ok";
      case "setReplication": return "" + nn.setReplication(a[0], Short.parseShort(a[1]));
      case "setStoragePolicy": nn.setStoragePolicy(a[0], a[1]); return "ok";
      case "unsetStoragePolicy": nn.unsetStoragePolicy(a[0]); return "ok";
      case "truncate": return "" + nn.truncate(a[0], Long.parseLong(a[1]), a[2]);
      case "concat": { String[] s = new String[a.length - 1]; System.arraycopy(a, 1, s, 0, s.length); nn.concat(a[0], s); return "ok"; }
      case "setXAttr": { EnumSet<XAttrSetFlag> f = EnumSet.noneOf(XAttrSetFlag.class); for (String x : a[2].split("\\|")) f.add(XAttrSetFlag.valueOf(x)); nn.setXAttr(a[0], parse(a[1]), f); return "ok"; }
      case "removeXAttr": nn.removeXAttr(a[0], parse(a[1])); return "ok";
      case "getXAttrs": { List<XAttr> l = null; if (a.length > 1) { l = new ArrayList<>(); for (int i = 1; i < a.length; i++) l.add(parse(a[i])); } return xattrs(nn.getXAttrs(a[0], l)); }
      case "listXAttrs": return xattrs(nn.listXAttrs(a[0]));
      case "allowSnapshot": nn.allowSnapshot(a[0]); return "ok";
      case "disallowSnapshot": nn.disallowSnapshot(a[0]); return "ok";
      case "createSnapshot": return nn.createSnapshot(a[0], a[1]);
      case "deleteSnapshot": nn.deleteSnapshot(a[0], a[1]); return "ok";
      case "renameSnapshot": nn.renameSnapshot(a[0], a[1], a[2]); return "ok";
      case "snapshotDiff": {
        SnapshotDiffReport r = nn.getSnapshotDiffReport(a[0], a[1].equals("-") ? "" : a[1], a[2].equals("-") ? "" : a[2]);
        StringBuilder b = new StringBuilder();
        for (SnapshotDiffReport.DiffReportEntry e : r.getDiffList())
          b.append(" ").append(e.getType().getLabel()).append(" ./").append(new String(e.getSourcePath())).append(e.getTargetPath() == null ? "" : "->./" + new String(e.getTargetPath()));
        return r.getDiffList().size() + ":" + b;
      }
      case "snapshottables": {
        SnapshottableDirectoryStatus[] l = nn.getSnapshottableDirListing();
        if (l == null) return "none";
        List<String> n = new ArrayList<>();
        for (SnapshottableDirectoryStatus s : l) n.add(s.getFullPath() + " " + s.getSnapshotNumber() + " " + s.getSnapshotQuota() + " [" + show(s.getDirStatus()) + "]");
        return n.toString();
      }
      case "snapshots": {
        SnapshotStatus[] l = nn.getSnapshotListing(a[0]);
        if (l == null) return "none";
        List<String> n = new ArrayList<>();
        for (SnapshotStatus s : l) n.add(s.getFullPath() + " " + s.getSnapshotID() + " " + s.isDeleted() + " [" + show(s.getDirStatus()) + "]");
        return n.toString();
      }
      case "stat": return show(nn.getFileInfo(a[0]));
      case "list": {
        DirectoryListing l = nn.getListing(a[0], a.length > 1 ? a[1].getBytes(StandardCharsets.UTF_8) : HdfsFileStatus.EMPTY_NAME, false);
        if (l == null) return "absent";
        List<String> n = new ArrayList<>();
        for (HdfsFileStatus s : l.getPartialListing()) n.add(s.getLocalName());
        return n + " " + l.getRemainingEntries();
      }
      case "summary": { ContentSummary c = nn.getContentSummary(a[0]); return "len=" + c.getLength() + " files=" + c.getFileCount() + " dirs=" + c.getDirectoryCount() + " space=" + c.getSpaceConsumed() + " snap=" + c.getSnapshotLength() + "," + c.getSnapshotFileCount() + "," + c.getSnapshotDirectoryCount() + "," + c.getSnapshotSpaceConsumed() + " quota=" + c.getQuota() + "," + c.getSpaceQuota(); }
      case "checkAccess": nn.checkAccess(a[0], FsAction.valueOf(a[1])); return "ok";
      case "isFileClosed": return "" + nn.isFileClosed(a[0]);
      case "blockSize": return "" + nn.getPreferredBlockSize(a[0]);
      case "acl": { var s = nn.getAclStatus(a[0]); return s.getOwner() + ":" + s.getGroup() + " " + s.isStickyBit() + " " + perm(s.getPermission()); }
      case "policy": return "" + nn.getStoragePolicy(a[0]).getId();
      case "blocks": {
        LocatedBlocks l = nn.getBlockLocations(a[0], Long.parseLong(a[1]), Long.parseLong(a[2]));
        List<String> n = new ArrayList<>();
        for (LocatedBlock b : l.getLocatedBlocks()) n.add(show(b));
        return "len=" + l.getFileLength() + " open=" + l.isUnderConstruction() + " complete=" + l.isLastBlockComplete() + " last=" + show(l.getLastLocatedBlock()) + " " + n;
      }
      case "recoverLease": return "" + nn.recoverLease(a[0], a[1]);
      case "write": { // path length blocksize: a real file, closed
        Configuration c = new Configuration(conf);
        return UserGroupInformation.createRemoteUser(user).doAs((PrivilegedExceptionAction<String>) () -> {
          try (org.apache.hadoop.fs.FileSystem fs = org.apache.hadoop.fs.FileSystem.newInstance(uri, c); org.apache.hadoop.fs.FSDataOutputStream o = fs.create(new org.apache.hadoop.fs.Path(a[0]), FsPermission.createImmutable((short) 0644), false, 512, (short) 1, Long.parseLong(a[2]), null)) {
            o.write(new byte[Integer.parseInt(a[1])]);
          }
          return "ok";
        });
      }
      case "touched": { // whether the modification time is another than when last asked
        HdfsFileStatus st = nn.getFileInfo(a[0]);
        Long was = times.put(a[0], st.getModificationTime());
        return was != null && was == st.getModificationTime() ? "no" : was == null ? "first" : "yes";
      }
      case "wait": { // until the file is closed
        for (int i = 0; i < 300 && !nn.isFileClosed(a[0]); i++) Thread.sleep(100);
        return "ok";
      }
    }
    throw new IllegalArgumentException(verb);
  }

  public static void main(String[] a) throws Exception {
    uri = URI.create(a[0]);
    conf.set("dfs.client.block.write.locateFollowingBlock.retries", "10");
    conf.set("dfs.bytes-per-checksum", "1");
    conf.set("dfs.client-write-packet-size", "512");
    ClientProtocol root = as("root");
    long tx = root.getCurrentEditLogTxid();
    try (BufferedReader r = new BufferedReader(new FileReader(a[1]))) {
      for (String line; (line = r.readLine()) != null; ) {
        line = line.trim();
        System.out.println(line);
        if (line.isEmpty() || line.startsWith("#")) continue;
        String[] w = line.split(" ");
        String[] args = new String[w.length - 2];
        for (int i = 0; i < args.length; i++) args[i] = w[i + 2].replace("%20", " ").replace("%40", "@");
        String out;
        Thread.sleep(2);
        try {
          out = call(w[0], w[1], args);
        } catch (RemoteException e) {
          out = "! " + e.getClassName() + ": " + e.getMessage().split("\n")[0];
        } catch (Exception e) {
          out = "? " + e;
        }
        if (blocks.size() > 0) { pool = blocks.get(0).getBlockPoolId(); }
        out = out.replaceAll("BP-[0-9]+-[0-9.]+-[0-9]+", "BP-1").replaceAll("\n.*", "");
        long now = root.getCurrentEditLogTxid();
        System.out.println("-> " + out + (now != tx ? " +" + (now - tx) : ""));
        tx = now;
      }
    }
    System.exit(0);
  }
}
