/* Language identification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calque/language.h"
#include "text/identify.h"
#include "text/language_model.h"
#include "text/ngrams.h"
#include "text/script.h"

#include <stdlib.h>
#include <string.h>

static cq_language_guess guess_of(const char *text) {
  return cq_language_identify(cq_slice_of(text));
}

static void assert_language(const char *text, const char *code) {
  const cq_language_guess guess = guess_of(text);
  assert_string_equal(guess.code, code);
  if (strcmp(code, "und") != 0)
    assert_true(guess.probability >= 0.5 && guess.probability <= 1);
  else
    assert_true(guess.probability == 0);
}

static void languages(void **state) {
  (void)state;
  static const char *const texts[][2] = {
      {"af", "Môre reis ons met die trein na die stad saam met ons vriende"},
      {"am", "ነገ ከጓደኞቻችን ጋር በባቡር ወደ ከተማ እንሄዳለን"},
      {"ar", "نسافر غدا إلى المدينة مع أصدقائنا"},
      {"as", "কাইলৈ আমি ৰেলেৰে চহৰলৈ যাম"},
      {"ast", "Nun sé si esto ye verdá, pero los vecinos falen asturianu tolos díes"},
      {"az", "Sabah dostlarımızla qatarla şəhərə gedəcəyik"},
      {"be", "Заўтра мы паедзем цягніком у горад з нашымі сябрамі"},
      {"bg", "Утре ще пътуваме с влака до града"},
      {"bn", "আমরা কাল শহরে যাব"},
      {"br", "Warc'hoazh ez aimp gant an tren da gêr gant hor mignoned"},
      {"ca", "Demà anirem amb tren a la ciutat amb els nostres amics"},
      {"ckb", "سبەی لەگەڵ هاوڕێکانمان بە شەمەندەفەر دەچین بۆ شار"},
      {"cs", "Zítra pojedeme vlakem do města se svými přáteli"},
      {"cy", "Yfory byddwn yn mynd ar y trên i'r ddinas gyda'n ffrindiau"},
      {"da", "I morgen tager vi toget ind til byen sammen med nogle venner"},
      {"de", "Morgen fahren wir mit dem Zug in die Stadt"},
      {"el", "Αύριο θα πάμε στην πόλη"},
      {"en", "Tomorrow we will take the train to the city"},
      {"eo", "Morgaŭ ni veturos trajne al la urbo kun niaj amikoj"},
      {"es", "Mañana iremos en tren a la ciudad con nuestros amigos"},
      {"et", "Homme sõidame rongiga linna koos oma sõpradega"},
      {"eu", "Bihar trenez joango gara hirira gure lagunekin"},
      {"fa", "فردا با قطار به شهر می‌رویم"},
      {"fi", "Huomenna matkustamme junalla kaupunkiin ystävien kanssa"},
      {"fo", "Í morgin fara vit við tokinum til býin saman við vinum okkara"},
      {"fr", "Demain nous prendrons le train pour aller en ville"},
      {"fy", "Moarn geane wy mei de trein nei de stêd mei ús freonen"},
      {"ga", "Amárach rachaimid ar an traein go dtí an chathair lenár gcairde"},
      {"gd", "A-màireach thèid sinn air an trèana dhan bhaile còmhla ri ar caraidean"},
      {"gl", "A miña irmá ten un can negro e dous gatos que dormen enriba da cama"},
      {"gu", "કાલે આપણે શહેરમાં જઈશું"},
      {"ha", "Gobe za mu tafi birni da jirgin kasa tare da abokanmu"},
      {"he", "מחר ניסע העירה"},
      {"hi", "हम कल रेलगाड़ी से शहर जाएँगे"},
      {"hr", "Sutra ćemo vlakom putovati u grad s našim prijateljima"},
      {"ht", "Demen nou pral pran tren pou nou ale nan vil la ak zanmi nou yo"},
      {"hu", "Holnap vonattal megyünk a városba a barátainkkal"},
      {"hy", "Վաղը մենք կգնանք քաղաք"},
      {"id", "Besok kami akan naik kereta api ke kota bersama teman-teman kami"},
      {"ig", "Echi anyị ga-aga obodo n'ụgbọ oloko anyị na ndị enyi anyị"},
      {"is", "Á morgun förum við með lest til borgarinnar með vinum okkar"},
      {"it", "Domani andremo in città con il treno"},
      {"ja", "明日は電車で町へ行きます"},
      {"ka", "ხვალ ქალაქში წავალთ"},
      {"kk", "Ертең достарымызбен бірге пойызбен қалаға барамыз"},
      {"km", "ស្អែកយើងនឹងទៅទីក្រុង"},
      {"kn", "ನಾಳೆ ನಾವು ನಗರಕ್ಕೆ ಹೋಗುತ್ತೇವೆ"},
      {"ko", "내일 우리는 기차를 타고 도시에 갑니다"},
      {"ku", "Sibê em ê bi trênê bi hevalên xwe re biçin bajêr"},
      {"ky", "Эртең досторубуз менен поезд менен шаарга барабыз"},
      {"lb", "Muer fuere mir mam Zuch an d'Stad mat eise Frënn"},
      {"lo", "ມື້ອື່ນພວກເຮົາຈະໄປເມືອງ"},
      {"lt", "Rytoj važiuosime traukiniu į miestą su draugais"},
      {"lv", "Rīt mēs brauksim ar vilcienu uz pilsētu"},
      {"mk", "Утре ќе патуваме со воз до градот"},
      {"ml", "നാളെ ഞങ്ങൾ നഗരത്തിലേക്ക് പോകും"},
      {"mn", "Маргааш бид найзуудтайгаа галт тэргээр хот руу явна"},
      {"mr", "आम्ही उद्या रेल्वेने शहरात जाणार आहोत"},
      {"ms", "Esok kami akan menaiki kereta api ke bandar bersama rakan-rakan kami"},
      {"mt", "Għada se mmorru bit-tren fil-belt ma' ħbiebna"},
      {"my", "မနက်ဖြန် ကျွန်တော်တို့ မြို့ကို ရထားနဲ့ သွားမယ်"},
      {"nb", "I morgen skal vi ta toget inn til byen sammen med noen venner"},
      {"ne", "भोलि हामी साथीहरूसँग रेलबाट सहर जानेछौं"},
      {"nl", "Morgen gaan we met de trein naar de stad met onze vrienden"},
      {"nn", "Eg veit ikkje kva dei skal gjere når me kjem heim i kveld"},
      {"oc", "La meuna sòrre a un can negre e dos gats que dormisson sul lièch"},
      {"or", "କାଲି ଆମେ ସହରକୁ ଯିବା"},
      {"pa", "ਕੱਲ੍ਹ ਅਸੀਂ ਸ਼ਹਿਰ ਜਾਵਾਂਗੇ"},
      {"pl", "Jutro pojedziemy pociągiem do miasta"},
      {"ps", "سبا به موږ له خپلو ملګرو سره په اورګاډي کې ښار ته ځو"},
      {"pt", "Amanhã vamos de comboio à cidade com os nossos amigos"},
      {"ro", "Mâine vom merge cu trenul în oraș"},
      {"ru", "Завтра мы поедем на поезде в город"},
      {"rw", "Ejo tuzajya mu mujyi na gari ya moshi hamwe n'inshuti zacu"},
      {"sd", "سڀاڻي اسان پنهنجي دوستن سان گڏ ريل ذريعي شهر وينداسين"},
      {"si", "හෙට අපි නගරයට යනවා"},
      {"sk", "Zajtra pôjdeme vlakom do mesta so svojimi priateľmi"},
      {"sl", "Jutri se bomo peljali z vlakom, ker je vožnja z avtom predolga in nevarna"},
      {"so", "Berri waxaan tareen ku tagi doonnaa magaalada annagoo la socda asxaabteena"},
      {"sq", "Nesër do të shkojmë me tren në qytet me miqtë tanë"},
      {"sr", "Сутра ћемо возом путовати у град са нашим пријатељима"},
      {"sv", "I morgon tar vi tåget in till staden med några vänner"},
      {"sw", "Kesho tutasafiri kwa treni kwenda mjini pamoja na marafiki zetu"},
      {"ta", "நாளை நாங்கள் நகரத்திற்குச் செல்வோம்"},
      {"te", "రేపు మేము నగరానికి వెళ్తాము"},
      {"tg", "Пагоҳ мо бо дӯстонамон бо қатора ба шаҳр меравем"},
      {"th", "พรุ่งนี้เราจะไปในเมือง"},
      {"tl", "Bukas ay sasakay kami ng tren papunta sa lungsod kasama ang aming mga kaibigan"},
      {"tr", "Yarın arkadaşlarımızla trenle şehre gideceğiz"},
      {"tt", "Иртәгә дусларыбыз белән поезд белән шәһәргә барабыз"},
      {"ug", "ئەتە بىز دوستلىرىمىز بىلەن پويىز بىلەن شەھەرگە بارىمىز"},
      {"uk", "Завтра ми поїдемо потягом до міста"},
      {"ur", "کل ہم ریل گاڑی سے شہر جائیں گے"},
      {"uz", "Ertaga do'stlarimiz bilan poyezdda shaharga boramiz"},
      {"vi", "Ngày mai chúng tôi sẽ đi tàu hỏa vào thành phố"},
      {"xh", "Abantwana bafunda isiXhosa esikolweni kwaye bathanda ukucula"},
      {"yi", "מאָרגן פֿאָרן מיר מיט דער באַן אין שטאָט מיט אונדזערע חבֿרים"},
      {"yo", "Lọ́la a máa wọ ọkọ̀ ojú irin lọ sí ìlú pẹ̀lú àwọn ọ̀rẹ́ wa"},
      {"zh", "明天我们坐火车去城里"},
      {"zu", "Izingane zifunda isiZulu esikoleni futhi ziyathanda ukucula"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_language(texts[i][1], texts[i][0]);
  assert_language("MORGEN FAHREN WIR MIT DEM ZUG IN DIE STADT", "de");
}

static void no_letters(void **state) {
  (void)state;
  static const char *const texts[] = {"",       " \t\n", "12:30", "... --- !?", "😀🎉 👍🏽", "\xCC\x81\xCC\x88",
                                      "$ 4.50", "①②"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_language(texts[i], "und");
  assert_language("\xFF\xFE\x80\xC3", "und");
  assert_language("ᚠᚢᚦᚨᚱᚲ", "und"); /* runes: a script without known languages */
  assert_true(cq_language_identify((cq_slice){NULL, 0}).probability == 0);
}

/* What is not in the script of most letters does not count, and invalid bytes only divide words. */
static void mixed(void **state) {
  (void)state;
  assert_language("Мы купили новый iPhone и MacBook Pro", "ru");
  assert_language("Wir lesen «Война и мир» gemeinsam in der Schule", "de");
  assert_language("😀 Morgen fahren wir \xFF mit dem Zug 12 in die Stadt 🎉", "de");
  assert_language("明日は iPhone を買います", "ja");
  const cq_language_guess whole = guess_of("Morgen fahren wir mit dem Zug"),
                          broken = guess_of("Morgen\xFF"
                                            "fahren \x80wir\xC3 mit 7 dem, Zug!");
  assert_string_equal(whole.code, broken.code);
  assert_true(whole.probability == broken.probability); /* the same words */
}

/* A long text is no other than a short one, and is told in the time of reading it. */
static void long_text(void **state) {
  (void)state;
  static const char sentence[] = "Demain nous prendrons le train pour aller en ville. ";
  const size_t n = sizeof sentence - 1, n_repeats = 20000;
  char *text = malloc(n * n_repeats + 1000);
  assert_non_null(text);
  for (size_t i = 0; i < n_repeats; i++) memcpy(text + i * n, sentence, n);
  assert_string_equal(cq_language_identify((cq_slice){text, n * n_repeats}).code, "fr");
  memset(text, 'a', 1000000); /* one word */
  assert_true(cq_language_identify((cq_slice){text, 1000000}).probability <= 1);
  free(text);
}

static void known_languages(void **state) {
  (void)state;
  size_t n = 0;
  for (const char *code, *last = ""; (code = cq_language_known(n)); last = code, n++) {
    assert_true(strcmp(last, code) < 0);
    assert_string_equal(cq_language_known_as(code), code);
  }
  assert_true(n >= 150);
  assert_null(cq_language_known(n));
  assert_null(cq_language_known(n + 100));
  static const char *const tags[][2] = {{"pt-BR", "pt"}, {"ZH_tw", "zh"}, {"iw", "he"},     {"no", "nb"},
                                        {"in-ID", "id"}, {"deu", "de"},   {"GER_at", "de"}, {"fil", "tl"}};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
    assert_string_equal(cq_language_known_as(tags[i][0]), tags[i][1]);
  static const char *const unknown[] = {"", "-", "xx", "d", "deux", "german-language", "und"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) assert_null(cq_language_known_as(unknown[i]));
}

/* " ab " has the n-grams a b, _a ab b_, _ab ab_, _ab_. */
static void ngrams(void **state) {
  (void)state;
  uint32_t hashes[CQ_NGRAM_HASHES], again[CQ_NGRAM_HASHES];
  cq_ngram_words words = {.text = cq_slice_of("7 aB, ж abcdef"), .script = cq_char_script('a')};
  assert_true(cq_ngram_next(&words));
  assert_int_equal(words.n, 4);
  assert_int_equal(cq_ngram_hashes(hashes, &words), 2 + 3 + 2 + 1);
  for (size_t i = 0; i < 8; i++)
    for (size_t k = 0; k < i; k++) assert_int_not_equal(hashes[i], hashes[k]);
  assert_true(cq_ngram_next(&words));
  assert_int_equal(words.n, 8);
  assert_int_equal(cq_ngram_hashes(again, &words), 6 + 7 + 6 + 5 + 4 + 1);
  assert_int_equal(again[0], hashes[0]); /* _a */
  assert_false(cq_ngram_next(&words));
  assert_false(cq_ngram_next(&words));
  char text[300];
  memset(text, 'x', sizeof text);
  words = (cq_ngram_words){.text = {text, sizeof text}, .script = cq_char_script('x')};
  for (size_t n = 0; n < sizeof text; n += words.n - 2) {
    assert_true(cq_ngram_next(&words));
    assert_true(words.n <= CQ_NGRAM_WORD && cq_ngram_hashes(hashes, &words) <= CQ_NGRAM_HASHES);
  }
  assert_false(cq_ngram_next(&words));
  assert_int_equal(cq_ngram_script(cq_slice_of("abc дe")), cq_char_script('a'));
  assert_int_equal(cq_ngram_script(cq_slice_of("abc де")), cq_char_script(0x434)); /* by bytes */
  assert_int_equal(cq_ngram_script(cq_slice_of("1 😀")), CQ_SCRIPT_NONE);
}

/* The file that the library carries is what its description says. */
static void model_file(void **state) {
  (void)state;
  cq_language_view v = {0};
  size_t n = 0;
  for (; cq_language_next(&v); n++) {
    assert_in_range(v.head.n_languages, 1, CQ_LANGUAGES_MAX);
    assert_true((v.head.n_languages == 1) == (v.head.n_bytes == 0));
    for (size_t l = 0; l < v.head.n_languages; l++) assert_in_range(strlen(v.codes[l]), 2, CQ_LANGUAGE_CODE - 1);
    if (!v.head.n_bytes) continue;
    const uint32_t n_buckets = 1u << v.head.bits;
    assert_int_equal(v.starts[0], 0);
    assert_in_range(v.starts[n_buckets], v.head.n_bytes - 3, v.head.n_bytes);
    for (uint32_t b = 0; b < n_buckets; b++) {
      uint32_t at = v.starts[b];
      while (at < v.starts[b + 1]) {
        assert_in_range(v.ngrams[at + 2], 1, v.head.n_languages);
        for (uint32_t k = 0; k < v.ngrams[at + 2]; k++) assert_true(v.ngrams[at + 3 + 2 * k] < v.head.n_languages);
        at += 3 + 2u * v.ngrams[at + 2];
      }
      assert_int_equal(at, v.starts[b + 1]);
    }
    assert_true(v.head.scale > 0);
  }
  assert_true(n > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(languages),       cmocka_unit_test(no_letters),
                                     cmocka_unit_test(mixed),           cmocka_unit_test(long_text),
                                     cmocka_unit_test(known_languages), cmocka_unit_test(ngrams),
                                     cmocka_unit_test(model_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
