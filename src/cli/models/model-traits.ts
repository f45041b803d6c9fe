/** What is known of a model by its name and is in no price list. Of all others nothing is said. */
export function traitsOf(id: string): { readonly maxOutput?: number; readonly reasoning?: true } {
  const maxOutput = outputs.find(([line]) => line.test(id))?.[1]
  return { ...(maxOutput !== undefined && { maxOutput }), ...(thinks.test(id) && { reasoning: true as const }) }
}

const thinks =
  /\bclaude-(?:3[.-]7|(?:opus|sonnet|haiku)-[4-9]|fable|mythos)|\bo[134](?:-|$)|\bgpt-(?:5|oss)|\bgemini-(?:2\.5|[3-9])|\bdeepseek-(?:r|reasoner)|\bqwen-?3|\bgrok-(?:[4-9]|3-mini)|\bmagistral\b/i

/** In tokens, as published by those who made them; first match counts. */
const outputs: readonly (readonly [RegExp, number])[] = [
  [/\bclaude-3[.-]5-/, 8192],
  [/\bclaude-3[.-]7-/, 64_000],
  [/\bclaude-3-(?:haiku|sonnet|opus)/, 4096],
  [/\bclaude-opus-4(?:[.-][01])?(?:-\d{8}|-latest|$)/, 32_000],
  [/\bclaude-(?:sonnet|haiku|opus)-4(?:[.-][05])?(?:-\d{8}|-latest|$)/, 64_000],
  [/\bgpt-4o\b/, 16_384],
  [/\bgpt-4\.1\b/, 32_768],
  [/\bo(?:1|3|3-mini|4-mini)(?:-\d{4}-\d\d-\d\d)?$/, 100_000],
  [/\bgpt-5(?:\.1)?(?:-mini|-nano)?(?:-\d{4}-\d\d-\d\d)?$/, 128_000],
  [/\bgemini-2\.5-(?:pro|flash)/, 65_536],
  [/\bgemini-2\.0-flash/, 8192],
]
