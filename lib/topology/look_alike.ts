/**
 * Letters that look like Latin ones become them, so that `pаsswоrd` with Cyrillic letters, full-width
 * `ｔｏｋｅｎ` and `api<zero width>Key` read as what a person sees.
 *
 * @module
 */

/** Latin letter -> others that look like it, beyond what NFKD already folds. */
const LOOK_ALIKES: { readonly [letter: string]: string } = {
  a: "аɑαᴀꭺ" + "АΑᎪꓮ",
  b: "ЬƄɓʙ" + "ВΒᏴꓐ",
  c: "сϲᴄƈ" + "СϹᏟꓚ",
  d: "ԁɗᴅꓒ" + "ᎠꓓԀ",
  e: "еєɛεҽᴇ" + "ЕΕᎬꓰ",
  f: "ƒꞙꜰ" + "Ϝꓝ",
  g: "ɡցɢ" + "ԌᏀꓖ",
  h: "һհɦʜ" + "НΗᎻꓧ",
  i: "іıɩιɪ" + "ІΙӀꓲ",
  j: "јϳᴊ" + "ЈᎫꓙ",
  k: "кκᴋƙ" + "КΚᏦꓗ",
  l: "ӏǀʟɭ" + "Ꮮꓡ",
  m: "мᴍɱ" + "МΜᎷꓟ",
  n: "пηոɴɲ" + "ΝꓠͶ",
  o: "оοօσᴏø" + "ОΟՕꓳØ",
  p: "рρᴘƥ" + "РΡᏢꓑ",
  q: "ԛզ" + "Ԛ",
  r: "гʀᴦɽ" + "Ꭱꓣ",
  s: "ѕꜱʂƽ" + "ЅᏚꓢ",
  t: "тτᴛƭ" + "ТΤᎢꓔ",
  u: "υսᴜʋ" + "Ս",
  v: "νѵᴠ" + "ѴᏙꓦ",
  w: "ԝѡωաᴡɯ" + "ԜᎳꓪ",
  x: "хχ" + "ХΧꓫ",
  y: "уγүʏƴ" + "УΥҮꓬ",
  z: "ᴢʐ" + "ΖᏃꓜ",
};

const LATIN: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([letter, others]) =>
    [...others].map((other): [string, string] => [
      other,
      other === other.toLowerCase() ? letter : letter.toUpperCase(),
    ])
  ),
);

/** What a person reads in `text`: plain letters, without marks and invisible characters. */
export function folded(text: string): string {
  // Most texts are plain already.
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  const plain = text.normalize("NFKD").replaceAll(
    /\p{M}|\p{Cf}|\p{Default_Ignorable_Code_Point}/gu,
    "",
  );
  return Array.from(plain, (letter) => LATIN.get(cherokee(letter)) ?? letter).join("");
}

/** Small Cherokee letters have the form of the large ones. */
function cherokee(letter: string): string {
  return /[\uab70-\uabbf]/.test(letter) ? letter.toUpperCase() : letter;
}
