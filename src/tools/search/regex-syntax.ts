/** A regular expression of ripgrep's dialect (Rust's), taken apart. */
export type RegexNode =
  | { readonly kind: 'literal'; readonly character: string; readonly ignoreCase: boolean }
  | { readonly kind: 'any'; readonly crossesLines: boolean }
  | { readonly kind: 'class'; readonly set: ClassSet; readonly ignoreCase: boolean }
  | { readonly kind: 'assertion'; readonly what: Assertion }
  | { readonly kind: 'repeat'; readonly node: RegexNode; readonly times: string; readonly least: number }
  | { readonly kind: 'sequence'; readonly nodes: readonly RegexNode[] }
  | { readonly kind: 'either'; readonly options: readonly RegexNode[] }

export type Assertion =
  | 'lineStart'
  | 'lineEnd'
  | 'textStart'
  | 'textEnd'
  | 'wordEdge'
  | 'noWordEdge'
  | 'wordStart'
  | 'wordEnd'
  | 'wordStartHalf'
  | 'wordEndHalf'

export type ClassSet =
  | { readonly kind: 'range'; readonly from: string; readonly to: string }
  | { readonly kind: 'perl'; readonly name: 'd' | 's' | 'w' }
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'not'; readonly set: ClassSet }
  | { readonly kind: 'union'; readonly sets: readonly ClassSet[] }
  | { readonly kind: 'and' | 'minus' | 'xor'; readonly left: ClassSet; readonly right: ClassSet }

/** What is wrong with a pattern, in words. */
export class PatternProblem extends Error {}

/** `i`, `m`, `s`, `U` (lazy and greedy swapped), `x` (spaces and comments do not count). */
export interface RegexFlags {
  readonly i: boolean
  readonly m: boolean
  readonly s: boolean
  readonly U: boolean
  readonly x: boolean
}
