"""Writes tests/golden/document/encrypted.pdf: a page of text that needs the password "calque" to be read, with RC4 of 40 bits
(PDF 1.7, section 7.6.3). Needs Python's standard library.

    python3 reference/golden_pdf.py
"""

import hashlib
import pathlib

PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
ID = bytes(range(16))
PERMISSIONS = (-4).to_bytes(4, "little", signed=True)


def rc4(key, data):
    s, j, out = list(range(256)), 0, bytearray()
    for i in range(256):
        j = (j + s[i] + key[i % len(key)]) % 256
        s[i], s[j] = s[j], s[i]
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + s[i]) % 256
        s[i], s[j] = s[j], s[i]
        out.append(byte ^ s[(s[i] + s[j]) % 256])
    return bytes(out)


def padded(password):
    return (password + PAD)[:32]


def main():
    user = owner = b"calque"
    owner_entry = rc4(hashlib.md5(padded(owner)).digest()[:5], padded(user))
    key = hashlib.md5(padded(user) + owner_entry + PERMISSIONS + ID).digest()[:5]
    user_entry = rc4(key, PAD)
    content = rc4(hashlib.md5(key + (4).to_bytes(3, "little") + bytes(2)).digest()[:10],
                  b"BT /F 12 Tf 72 700 Td (Nobody reads this.) Tj ET")
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Filter/Standard/V 1/R 2/O<%s>/U<%s>/P -4>>" % (owner_entry.hex().encode(), user_entry.hex().encode()),
    ]
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer<</Size %d/Root 1 0 R/Encrypt 6 0 R/ID[<%s><%s>]>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1, ID.hex().encode(), ID.hex().encode(), start)
    path = pathlib.Path(__file__).parent.parent / "tests/golden/document/encrypted.pdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(out)


if __name__ == "__main__":
    main()
