import java.io.File;
import java.io.IOException;
import java.util.Collection;
import java.util.Map;
import org.apache.lucene.analysis.*;
import org.apache.lucene.analysis.core.WhitespaceTokenizer;
import org.apache.lucene.analysis.snowball.SnowballFilter;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.store.*;

/** What LuceneBench needs of Lucene 8 and 9, where they differ from 4. */
final class LuceneApi {
  static Analyzer analyzer(boolean standard, Collection<String> stop, boolean stem) {
    return new Analyzer() {
      @Override
      protected TokenStreamComponents createComponents(String field) {
        Tokenizer source = standard ? new StandardTokenizer() : new WhitespaceTokenizer();
        TokenStream out = source;
        if (standard) out = new LowerCaseFilter(out);
        if (!stop.isEmpty()) out = new StopFilter(out, new CharArraySet(stop, false));
        if (stem) out = new SnowballFilter(out, "English");
        return new TokenStreamComponents(source, out);
      }
    };
  }

  static Directory directory(String path) throws IOException { return new MMapDirectory(new File(path).toPath()); }

  static IndexWriterConfig config(Analyzer analyzer) { return new IndexWriterConfig(analyzer); }

  static void countsOnly(FieldType type) { type.setIndexOptions(IndexOptions.DOCS_AND_FREQS); }

  static Query query(Map<String, Float> terms, String field) {
    BooleanQuery.Builder all = new BooleanQuery.Builder();
    terms.forEach((term, weight) -> {
      Query one = new TermQuery(new Term(field, term));
      all.add(weight == 1 ? one : new BoostQuery(one, weight), BooleanClause.Occur.SHOULD);
    });
    return all.build();
  }

  static IndexSearcher searcher(IndexReader reader) {
    IndexSearcher searcher = new IndexSearcher(reader);
    searcher.setQueryCache(null);
    return searcher;
  }

  /** pruned: may skip what cannot enter the top k (WAND, block-max MaxScore); else scores every document with a term. */
  static TopDocs search(IndexSearcher searcher, Query query, int k, boolean pruned) throws IOException {
    TopScoreDocCollector top = TopScoreDocCollector.create(k, pruned ? k : Integer.MAX_VALUE);
    searcher.search(query, top);
    return top.topDocs();
  }
}
