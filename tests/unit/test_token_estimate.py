"""The estimate of tokens against the counts of two public vocabularies, an older and a newer one."""

from __future__ import annotations

import pytest

from memrepo.format.token_estimate import estimate_tokens

# Notes as bullets, one a line, and how many tokens they are in cl100k and in o200k (js-tiktoken 1.0.21).
MEASURED = [
    (
        "english",
        58,
        57,
        (
            "Prefers concise answers with bullet points and no introduction",
            "The staging database is refreshed every night from an anonymised copy of production",
            "Deploys go out on Tuesdays after the review meeting; never on Fridays",
            "Lives in Lisbon and works from home three days a week",
        ),
    ),
    (
        "code",
        91,
        91,
        (
            "Run `uv run pytest tests/unit -q --maxfail=1` before each push",
            "SERVICE_URL=https://api.example.org:8443/v2/items?limit=100&cursor=abc",
            "src/memrepo/policy/redaction.py: _find_spans(text, lower, gates, plain) -> list[Span]",
            "kubectl -n billing rollout restart deploy/queue-worker && kubectl get pods -w",
        ),
    ),
    (
        "hex",
        116,
        116,
        (
            "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 broke the parser",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "order id 2026-10-05T12:33:07.918Z 550e8400-e29b-41d4-a716-446655440000",
        ),
    ),
    (
        "german",
        60,
        54,
        (
            "Bevorzugt knappe Antworten mit Aufzählungspunkten und ohne Einleitung",
            "Die Staging-Datenbank wird jede Nacht aus einer anonymisierten Kopie aktualisiert",
            "Wohnt in München und arbeitet drei Tage pro Woche von zu Hause",
        ),
    ),
    (
        "french",
        61,
        53,
        (
            "Préfère des réponses concises avec des listes à puces, sans introduction",
            "Les déploiements ont lieu le mardi après la réunion de revue, jamais le vendredi",
            "Habite à Lisbonne et travaille trois jours par semaine à la maison",
        ),
    ),
    (
        "turkish",
        73,
        58,
        (
            "Girişsiz, madde işaretli kısa yanıtları tercih ediyor",
            "Hazırlık veritabanı her gece anonimleştirilmiş bir kopyadan yenilenir",
            "Lizbon'da yaşıyor ve haftada üç gün evden çalışıyor",
        ),
    ),
    (
        "vietnamese",
        92,
        59,
        (
            "Thích câu trả lời ngắn gọn có gạch đầu dòng và không có phần mở đầu",
            "Cơ sở dữ liệu thử nghiệm được làm mới mỗi đêm từ một bản sao ẩn danh",
            "Sống ở Lisbon và làm việc tại nhà ba ngày một tuần",
        ),
    ),
    (
        "polish",
        69,
        61,
        (
            "Woli zwięzłe odpowiedzi w punktach, bez wstępu",
            "Baza testowa jest odświeżana co noc z zanonimizowanej kopii produkcji",
            "Mieszka w Łodzi i trzy dni w tygodniu pracuje z domu",
        ),
    ),
    (
        "russian",
        81,
        50,
        (
            "Предпочитает краткие ответы по пунктам без вступления",
            "Тестовая база обновляется каждую ночь из обезличенной копии",
            "Живёт в Лиссабоне и три дня в неделю работает из дома",
        ),
    ),
    (
        "ukrainian",
        100,
        61,
        (
            "Надає перевагу стислим відповідям без вступу",
            "Тестова база оновлюється щоночі зі знеособленої копії",
            "Живе в Лісабоні й тричі на тиждень працює з дому",
        ),
    ),
    (
        "greek",
        162,
        71,
        (
            "Προτιμά σύντομες απαντήσεις με κουκκίδες χωρίς εισαγωγή",
            "Η δοκιμαστική βάση ανανεώνεται κάθε βράδυ από ανώνυμο αντίγραφο",
            "Μένει στη Λισαβόνα και δουλεύει από το σπίτι τρεις μέρες",
        ),
    ),
    (
        "hebrew",
        130,
        55,
        (
            "מעדיף תשובות קצרות עם תבליטים וללא הקדמה",
            "מסד הנתונים לבדיקות מתרענן בכל לילה מעותק אנונימי",
            "גר בליסבון ועובד מהבית שלושה ימים בשבוע",
        ),
    ),
    (
        "arabic",
        112,
        48,
        (
            "يفضل الإجابات الموجزة بنقاط ودون مقدمة",
            "تُحدَّث قاعدة بيانات الاختبار كل ليلة من نسخة مجهولة الهوية",
            "يعيش في لشبونة ويعمل من المنزل ثلاثة أيام في الأسبوع",
        ),
    ),
    (
        "persian",
        134,
        62,
        (
            "پاسخ‌های کوتاه و فهرست‌وار بدون مقدمه را ترجیح می‌دهد",
            "پایگاه دادهٔ آزمایشی هر شب از یک نسخهٔ بی‌نام به‌روز می‌شود",
            "در لیسبون زندگی می‌کند و سه روز در هفته در خانه کار می‌کند",
        ),
    ),
    (
        "hindi",
        164,
        54,
        (
            "बिना भूमिका के बिंदुओं में संक्षिप्त उत्तर पसंद करता है",
            "परीक्षण डेटाबेस हर रात एक अनाम प्रति से ताज़ा होता है",
            "लिस्बन में रहता है और सप्ताह में तीन दिन घर से काम करता है",
        ),
    ),
    (
        "bengali",
        131,
        38,
        (
            "ভূমিকা ছাড়া সংক্ষিপ্ত উত্তর পছন্দ করেন",
            "পরীক্ষার ডেটাবেস প্রতি রাতে একটি বেনামি অনুলিপি থেকে নতুন করা হয়",
        ),
    ),
    (
        "tamil",
        151,
        35,
        (
            "முன்னுரை இல்லாத சுருக்கமான பதில்களை விரும்புகிறார்",
            "சோதனைத் தரவுத்தளம் ஒவ்வொரு இரவும் புதுப்பிக்கப்படுகிறது",
        ),
    ),
    (
        "telugu",
        162,
        35,
        (
            "పరిచయం లేకుండా చిన్న సమాధానాలను ఇష్టపడతారు",
            "పరీక్ష డేటాబేస్ ప్రతి రాత్రి నవీకరించబడుతుంది",
        ),
    ),
    (
        "thai",
        143,
        67,
        (
            "ชอบคำตอบสั้นกระชับเป็นข้อ ๆ โดยไม่ต้องมีบทนำ",
            "ฐานข้อมูลทดสอบถูกรีเฟรชทุกคืนจากสำเนาที่ไม่ระบุชื่อ",
            "อาศัยอยู่ในลิสบอนและทำงานจากบ้านสามวันต่อสัปดาห์",
        ),
    ),
    (
        "khmer",
        153,
        60,
        (
            "ចូលចិត្តចម្លើយខ្លីៗ ដោយគ្មានសេចក្តីផ្តើម",
            "មូលដ្ឋានទិន្នន័យសាកល្បងត្រូវបានធ្វើឱ្យថ្មីរៀងរាល់យប់",
        ),
    ),
    (
        "burmese",
        175,
        50,
        (
            "နိဒါန်းမပါဘဲ တိုတောင်းသော အဖြေများကို နှစ်သက်သည်",
            "စမ်းသပ်ဒေတာဘေ့စ်ကို ညစဉ် အသစ်ပြုလုပ်သည်",
        ),
    ),
    (
        "georgian",
        172,
        32,
        (
            "ურჩევნია მოკლე პასუხები შესავლის გარეშე",
            "სატესტო ბაზა ყოველ ღამე ახლდება ანონიმური ასლიდან",
        ),
    ),
    (
        "armenian",
        172,
        33,
        (
            "Նախընտրում է հակիրճ պատասխաններ առանց ներածության",
            "Փորձնական բազան թարմացվում է ամեն գիշեր",
        ),
    ),
    (
        "amharic",
        112,
        87,
        (
            "ያለ መግቢያ አጭር መልሶችን ይመርጣል",
            "የሙከራ ዳታቤዝ በየሌሊቱ ይታደሳል",
        ),
    ),
    (
        "tibetan",
        87,
        67,
        ("ངོ་སྤྲོད་མེད་པའི་ལན་ཐུང་ཐུང་ལ་དགའ་པོ་ཡོད།",),
    ),
    (
        "chinese",
        86,
        65,
        (
            "偏好简洁的要点式回答，不要引言",
            "测试数据库每晚用匿名化的生产副本刷新",
            "住在里斯本，每周三天在家工作",
            "部署安排在周二评审会之后，周五从不部署",
        ),
    ),
    (
        "chinese_trad",
        76,
        50,
        (
            "偏好簡潔的條列式回答，不要前言",
            "測試資料庫每晚以匿名化的正式環境副本更新",
            "住在里斯本，每週三天在家工作",
        ),
    ),
    (
        "japanese",
        95,
        65,
        (
            "前置きなしで箇条書きの簡潔な回答を好む",
            "ステージング環境のデータベースは毎晩匿名化されたコピーから更新される",
            "リスボンに住み、週に三日は在宅勤務をしている",
        ),
    ),
    (
        "korean",
        91,
        64,
        (
            "서론 없이 요점 위주의 간결한 답변을 선호함",
            "스테이징 데이터베이스는 매일 밤 익명화된 사본으로 갱신된다",
            "리스본에 살며 일주일에 사흘은 재택근무를 한다",
        ),
    ),
    (
        "emoji",
        45,
        34,
        (
            "🎉🚀 👩‍💻 ✅ 🇵🇹 ❤️ 👍🏽",
            "📌 🧪🧪 🔥🐛",
        ),
    ),
    (
        "symbols",
        40,
        39,
        (
            "∀x ∈ ℝ: x² ≥ 0 → √x ≤ x",
            "←→↑↓ ■□▲▼ ★☆ ─│┌┐",
        ),
    ),
    (
        "rare",
        74,
        75,
        (
            "𓀀𓀁𓂀 𐎠𐎡 𒀀𒀁",
            "ꦲꦏ꧀ꦱꦫ ᜊᜌ᜔ᜊᜌᜒᜈ᜔",
        ),
    ),
]


@pytest.mark.parametrize(("name", "older", "newer", "notes"), MEASURED, ids=[row[0] for row in MEASURED])
def test_the_estimate_lies_between_the_newer_and_the_older_count(
    name: str, older: int, newer: int, notes: tuple[str, ...]
) -> None:
    estimate = estimate_tokens("".join(f"- {note}\n" for note in notes))
    assert 0.85 * newer <= estimate <= 1.3 * older


def test_english_is_within_a_tenth_of_both() -> None:
    _, older, newer, notes = MEASURED[0]
    estimate = estimate_tokens("".join(f"- {note}\n" for note in notes))
    assert 0.9 * newer <= estimate <= 1.1 * older


def test_four_characters_are_a_token_in_english_only() -> None:
    assert estimate_tokens("Prefers short answers in plain words") <= 36 / 4
    assert estimate_tokens("偏好简洁的要点式回答") >= 10
    assert estimate_tokens("Предпочитает краткие ответы") >= 27 / 2.5


def test_nothing_costs_nothing_and_any_character_costs_something() -> None:
    assert estimate_tokens("") == 0
    for character in ("a", "1", "-", "\n", "é", "\u4e00", "\U0001f600", "\ud800", "\U0010ffff"):
        assert estimate_tokens(character) >= 1
