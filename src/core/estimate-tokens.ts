/**
 * The approximate number of tokens of a text: an ideograph, a kana or a Hangul syllable counts as one, and so do four other
 * UTF-16 units. Ideographs are the unified ones with their extensions.
 */
export function estimateTokens(text: string): number {
  let ideographs = 0
  let others = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < firstCjk) others++
    else if (isCjk(unit)) ideographs++
    else if (isRareIdeograph(unit, text.charCodeAt(i + 1))) {
      ideographs++
      i++
    } else others++
  }
  return Math.ceil(ideographs + others / 4)
}

const firstCjk = 0x3040

const isCjk = (unit: number): boolean =>
  unit <= 0x30ff || // Hiragana, Katakana
  (unit >= 0x3400 && unit <= 0x4dbf) ||
  (unit >= 0x4e00 && unit <= 0x9fff) ||
  (unit >= 0xac00 && unit <= 0xd7a3)

/** Planes 2 and 3 hold only ideographs; these are their high surrogates. */
const isRareIdeograph = (unit: number, next: number): boolean =>
  unit >= 0xd840 && unit <= 0xd8bf && next >= 0xdc00 && next <= 0xdfff
