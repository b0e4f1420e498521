import java.io.File;
import java.io.IOException;
import java.io.Reader;
import java.util.Collection;
import java.util.Map;
import org.apache.lucene.analysis.*;
import org.apache.lucene.analysis.core.*;
import org.apache.lucene.analysis.snowball.SnowballFilter;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.analysis.util.CharArraySet;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.store.*;
import org.apache.lucene.util.Version;

/** What LuceneBench needs of Lucene 4, where it differs from 8 and 9. */
final class LuceneApi {
  static Analyzer analyzer(boolean standard, Collection<String> stop, boolean stem) {
    return new Analyzer() {
      @Override
      protected TokenStreamComponents createComponents(String field, Reader reader) {
        Tokenizer source = standard ? new StandardTokenizer(reader) : new WhitespaceTokenizer(reader);
        TokenStream out = source;
        if (standard) out = new LowerCaseFilter(out);
        if (!stop.isEmpty()) out = new StopFilter(out, new CharArraySet(stop, false));
        if (stem) out = new SnowballFilter(out, "English");
        return new TokenStreamComponents(source, out);
      }
    };
  }

  static Directory directory(String path) throws IOException { return new MMapDirectory(new File(path)); }

  static IndexWriterConfig config(Analyzer analyzer) { return new IndexWriterConfig(Version.LATEST, analyzer); }

  static void countsOnly(FieldType type) {
    type.setIndexed(true);
    type.setIndexOptions(FieldInfo.IndexOptions.DOCS_AND_FREQS);
  }

  static Query query(Map<String, Float> terms, String field) {
    BooleanQuery all = new BooleanQuery(true); // no coordination factor
    terms.forEach((term, weight) -> {
      Query one = new TermQuery(new Term(field, term));
      one.setBoost(weight);
      all.add(one, BooleanClause.Occur.SHOULD);
    });
    return all;
  }

  static IndexSearcher searcher(IndexReader reader) { return new IndexSearcher(reader); }

  /** Scores every document with a term: this release cannot skip. */
  static TopDocs search(IndexSearcher searcher, Query query, int k, boolean pruned) throws IOException {
    return searcher.search(query, k);
  }
}
