import java.io.*;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.*;
import java.util.zip.GZIPInputStream;
import org.apache.lucene.analysis.*;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.search.similarities.*;
import org.apache.lucene.store.Directory;

/**
 * Lucene's side of bench/lucene.sh. Compiles beside LuceneApi9.java (releases 8 and 9) or LuceneApi4.java (release 4).
 *
 * <pre>
 *   index DIR FILE THREADS RAM_MB [merge]             FILE: a TREC collection, plain or .gz
 *   search DIR TOPICS MODEL K THREADS REPEATS [RUN]   TOPICS: &lt;top&gt;&lt;num&gt;&lt;title&gt;, or lines of id TAB term[^weight] ...
 *                                                     MODEL: dirichlet (mu 2000), bm25 (k1 1.2, b 0.75), bm25:K1,B, dirichlet:MU
 *   analyze FILE                                      the collection on standard output with its texts analyzed
 *   analyze-topics TOPICS                             the topics likewise, as id TAB terms
 *   options: -Dstandard=true (else words are what stands between white space), -Dstop=FILE, -Dstem=true,
 *            -Dpruned=false (score every document that has a term), -Dwarm=PASSES (5) before the timed ones
 *            and at least 6 seconds of them,
 *            -Dpasses=N (1) times the index is made
 * </pre>
 *
 * Indexes hold counts, lengths and the documents' names, no positions and no texts. Prints lines of name TAB figure.
 * Timed: from opening FILE to the commit (one thread at a time reads it, all parse and analyze); a pass over all queries,
 * made into query objects before, to the ranked lists.
 */
public final class LuceneBench {
  static final String TEXT = "text", NAME = "name";
  static final Pattern TAG = Pattern.compile("</?[A-Za-z][^<>]*>"), WEIGHTED = Pattern.compile("(.+)\\^([0-9.eE+-]+)");

  static void figure(String name, Object value) { System.out.println(name + "\t" + value); }

  static String seconds(double value) { return String.format(Locale.ROOT, "%.4f", value); }

  static double now() { return System.nanoTime() * 1e-9; }

  static double processorSeconds() {
    return ((com.sun.management.OperatingSystemMXBean)ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() * 1e-9;
  }

  static Analyzer analyzer() throws IOException {
    String stop = System.getProperty("stop");
    Set<String> words = new HashSet<>();
    if (stop != null)
      for (String line : Files.readAllLines(Paths.get(stop))) words.add(line.trim());
    return LuceneApi.analyzer(Boolean.getBoolean("standard"), words, Boolean.getBoolean("stem"));
  }

  static InputStream open(String path) throws IOException {
    InputStream in = new FileInputStream(path);
    return path.endsWith(".gz") ? new GZIPInputStream(in, 1 << 16) : in;
  }

  /** Cuts a collection into pieces of whole documents. */
  static final class Splitter implements Closeable {
    static final byte[] END = "</DOC>".getBytes(StandardCharsets.US_ASCII);
    final InputStream in;
    byte[] rest = new byte[0];
    long bytes;

    Splitter(String path) throws IOException { in = open(path); }

    /** About a megabyte; null at the end. */
    synchronized String[] next() throws IOException {
      byte[] piece = Arrays.copyOf(rest, rest.length + (1 << 20));
      int n = rest.length, end = 0;
      while (end == 0) {
        int got = n < piece.length ? in.read(piece, n, piece.length - n) : 0;
        if (got < 0) break;
        n += got;
        if (n < piece.length) continue;
        end = lastEnd(piece, n);
        if (end == 0) piece = Arrays.copyOf(piece, 2 * n);
      }
      if (end == 0) end = lastEnd(piece, n);
      bytes += n - rest.length;
      rest = Arrays.copyOfRange(piece, end, n);
      return end == 0 ? null : new String(piece, 0, end, StandardCharsets.UTF_8).split("</DOC>");
    }

    static int lastEnd(byte[] piece, int n) {
      for (int i = n - END.length; i >= 0; i--) {
        int j = 0;
        while (j < END.length && piece[i + j] == END[j]) j++;
        if (j == END.length) return i + j;
      }
      return 0;
    }

    @Override
    public void close() throws IOException { in.close(); }
  }

  /** Name and text of what stands before a closing &lt;/DOC&gt;; null where there is no name. */
  static String[] parse(String document) {
    int start = document.indexOf("<DOCNO>"), end = document.indexOf("</DOCNO>");
    if (start < 0 || end < 0) return null;
    String text = document.substring(end + 8);
    if (text.indexOf('<') >= 0) text = TAG.matcher(text).replaceAll(" ");
    return new String[] {document.substring(start + 7, end).trim(), text};
  }

  interface Work {
    void run() throws Exception;
  }

  static void parallel(int threads, Work work) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < threads; i++)
      all.add(pool.submit(() -> {
        work.run();
        return null;
      }));
    for (Future<?> one : all) one.get();
    pool.shutdown();
  }

  static void index(String path, String file, int threads, double ram, boolean merge) throws Exception {
    FieldType counts = new FieldType();
    LuceneApi.countsOnly(counts);
    counts.setTokenized(true);
    counts.freeze();
    FieldType stored = new FieldType();
    stored.setStored(true);
    stored.freeze();
    IndexWriterConfig config = LuceneApi.config(analyzer());
    config.setOpenMode(IndexWriterConfig.OpenMode.CREATE).setRAMBufferSizeMB(ram).setUseCompoundFile(false);
    try (Directory directory = LuceneApi.directory(path); IndexWriter writer = new IndexWriter(directory, config)) {
      double start = now(), used = processorSeconds();
      long bytes;
      try (Splitter splitter = new Splitter(file)) {
        parallel(threads, () -> {
          Document document = new Document();
          Field text = new Field(TEXT, "", counts), name = new Field(NAME, "", stored);
          document.add(text);
          document.add(name);
          for (String[] piece; (piece = splitter.next()) != null;)
            for (String one : piece) {
              String[] parsed = parse(one);
              if (parsed == null) continue;
              name.setStringValue(parsed[0]);
              text.setStringValue(parsed[1]);
              writer.addDocument(document);
            }
        });
        bytes = splitter.bytes;
      }
      writer.commit();
      double took = now() - start, begun = now();
      int documents;
      try (DirectoryReader reader = DirectoryReader.open(directory)) {
        documents = reader.numDocs();
        figure("segments", reader.leaves().size());
      }
      figure("documents", documents);
      figure("add and commit, s", seconds(took));
      figure("documents/s", Math.round(documents / took));
      figure("MB/s of text", String.format(Locale.ROOT, "%.1f", bytes * 1e-6 / took));
      if (merge) {
        begun = now();
        writer.forceMerge(1);
        writer.commit();
        figure("merge, s", seconds(now() - begun));
      }
      figure("processor, s", seconds(processorSeconds() - used));
    }
    long size = 0;
    try (DirectoryStream<Path> files = Files.newDirectoryStream(Paths.get(path))) {
      for (Path one : files) size += Files.size(one);
    }
    figure("index, bytes", size);
  }

  static List<String> terms(Analyzer analyzer, String text) throws IOException {
    List<String> terms = new ArrayList<>();
    try (TokenStream stream = analyzer.tokenStream(TEXT, text)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      stream.reset();
      while (stream.incrementToken()) terms.add(term.toString());
      stream.end();
    }
    return terms;
  }

  static String read(String path) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    byte[] buffer = new byte[1 << 16];
    try (InputStream in = open(path)) {
      for (int n; (n = in.read(buffer)) > 0;) out.write(buffer, 0, n);
    }
    return out.toString("UTF-8");
  }

  /** Topics in their order; of each the distinct terms in their order, a repeated one's weights added. */
  static Map<String, Map<String, Float>> topics(String path, Analyzer analyzer) throws IOException {
    Map<String, Map<String, Float>> topics = new LinkedHashMap<>();
    String all = read(path);
    if (all.contains("<top>")) {
      Matcher m = Pattern.compile("<num>(?:\\s*Number:)?\\s*([^\\s<]+)[^<]*(?:</num>\\s*)?<title>([^<]*)").matcher(all);
      while (m.find()) {
        Map<String, Float> topic = topics.computeIfAbsent(m.group(1), x -> new LinkedHashMap<>());
        for (String term : terms(analyzer, m.group(2))) topic.merge(term, 1f, Float::sum);
      }
    } else {
      for (String line : all.split("\n")) {
        String[] columns = line.split("\t", 2);
        if (columns.length < 2) continue;
        Map<String, Float> topic = topics.computeIfAbsent(columns[0], x -> new LinkedHashMap<>());
        for (String word : columns[1].trim().split("\\s+")) {
          Matcher m = WEIGHTED.matcher(word);
          boolean weighted = m.matches();
          float weight = weighted ? Float.parseFloat(m.group(2)) : 1;
          for (String term : terms(analyzer, weighted ? m.group(1) : word)) topic.merge(term, weight, Float::sum);
        }
      }
    }
    return topics;
  }

  static Similarity similarity(String model) {
    String[] parts = model.split("[:,]");
    if (parts[0].equals("dirichlet")) return new LMDirichletSimilarity(parts.length > 1 ? Float.parseFloat(parts[1]) : 2000);
    if (!parts[0].equals("bm25")) throw new IllegalArgumentException("model " + model);
    return parts.length > 2 ? new BM25Similarity(Float.parseFloat(parts[1]), Float.parseFloat(parts[2]))
                            : new BM25Similarity(1.2f, 0.75f);
  }

  static void search(String path, String file, String model, int k, int threads, int repeats, String run) throws Exception {
    boolean pruned = !"false".equals(System.getProperty("pruned"));
    BooleanQuery.setMaxClauseCount(1 << 20);
    try (Directory directory = LuceneApi.directory(path); DirectoryReader reader = DirectoryReader.open(directory)) {
      IndexSearcher searcher = LuceneApi.searcher(reader);
      searcher.setSimilarity(similarity(model));
      List<String> ids = new ArrayList<>();
      List<Query> queries = new ArrayList<>();
      long postings = 0;
      for (Map.Entry<String, Map<String, Float>> topic : topics(file, analyzer()).entrySet()) {
        ids.add(topic.getKey());
        queries.add(LuceneApi.query(topic.getValue(), TEXT));
        for (String term : topic.getValue().keySet()) postings += reader.docFreq(new Term(TEXT, term));
      }
      figure("queries", queries.size());
      figure("postings a query", postings / Math.max(1, queries.size()));
      TopDocs[] found = new TopDocs[queries.size()];
      double[] took = new double[repeats];
      int warm = Integer.getInteger("warm", 5);
      double used = 0, warmUntil = now() + (warm > 0 ? 6 : 0);
      for (int pass = -warm; pass < repeats; pass++) {
        if (pass == 0 && now() < warmUntil) pass = -1;
        AtomicInteger next = new AtomicInteger();
        if (pass == 0) used = processorSeconds();
        double start = now();
        parallel(threads, () -> {
          for (int q; (q = next.getAndIncrement()) < found.length;)
            found[q] = LuceneApi.search(searcher, queries.get(q), k, pruned);
        });
        if (pass >= 0) took[pass] = now() - start;
        if (pass >= 0) figure("pass, s", seconds(took[pass]));
      }
      Arrays.sort(took);
      if (repeats > 0) {
        double each = (processorSeconds() - used) / repeats / Math.max(1, found.length);
        figure("processor ms a query", String.format(Locale.ROOT, "%.3f", 1e3 * each)); // all threads', whatever else runs
        figure("queries/s, best", String.format(Locale.ROOT, "%.1f", found.length / took[0]));
        figure("queries/s, median", String.format(Locale.ROOT, "%.1f", found.length / took[repeats / 2]));
      }
      if (run == null) return;
      try (PrintWriter out = new PrintWriter(new BufferedWriter(new FileWriter(run)))) {
        for (int q = 0; q < found.length; q++)
          for (int i = 0; i < found[q].scoreDocs.length; i++) {
            ScoreDoc one = found[q].scoreDocs[i];
            out.println(ids.get(q) + " Q0 " + reader.document(one.doc).get(NAME) + " " + (i + 1) + " " + one.score + " lucene");
          }
      }
    }
  }

  static void analyze(String file) throws IOException {
    Analyzer analyzer = analyzer();
    try (PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, "UTF-8");
         Splitter splitter = new Splitter(file)) {
      for (String[] piece; (piece = splitter.next()) != null;)
        for (String one : piece) {
          String[] parsed = parse(one);
          if (parsed == null) continue;
          out.print("<DOC>\n<DOCNO>" + parsed[0] + "</DOCNO>\n<TEXT>\n");
          out.print(String.join(" ", terms(analyzer, parsed[1])) + "\n</TEXT>\n</DOC>\n");
        }
    }
  }

  static void analyzeTopics(String file) throws IOException {
    for (Map.Entry<String, Map<String, Float>> topic : topics(file, analyzer()).entrySet()) {
      List<String> words = new ArrayList<>();
      topic.getValue().forEach((term, weight) -> words.add(weight == 1 ? term : term + "^" + weight));
      System.out.println(topic.getKey() + "\t" + String.join(" ", words));
    }
  }

  public static void main(String[] a) throws Exception {
    if (a.length >= 5 && a[0].equals("index"))
      for (int pass = Integer.getInteger("passes", 1); pass > 0; pass--)
        index(a[1], a[2], Integer.parseInt(a[3]), Double.parseDouble(a[4]), a.length > 5 && a[5].equals("merge"));
    else if (a.length >= 7 && a[0].equals("search"))
      search(a[1], a[2], a[3], Integer.parseInt(a[4]), Integer.parseInt(a[5]), Integer.parseInt(a[6]), a.length > 7 ? a[7] : null);
    else if (a.length == 2 && a[0].equals("analyze")) analyze(a[1]);
    else if (a.length == 2 && a[0].equals("analyze-topics")) analyzeTopics(a[1]);
    else {
      System.err.println("usage: see the top of LuceneBench.java");
      System.exit(2);
    }
  }
}
