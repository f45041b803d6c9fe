/**
 * A form in which a model may write a call: `<tag name="id">parameters</tag>`, or with its name inside, as in
 * `<tool_call>{"name": "id", "arguments": {}}</tool_call>`, which is what `{ tag: 'tool_call', nameIn: 'json' }` means.
 */
export interface TextCallPattern {
  /** Case does not matter. */
  readonly tag: string
  /** Where the name of the tool is. Default: `attribute`. */
  readonly nameIn?: 'attribute' | 'json'
  /** The attribute that names the tool. Default: `name`. */
  readonly nameAttribute?: string
}

/** The forms every model may use. */
const defaultPatterns: readonly TextCallPattern[] = [{ tag: 'tool_use' }, { tag: 'function_call' }]

/** The tag around calls that may run in parallel. */
export const parallelTag = 'parallel_tool_calls'

/** The default forms and the given ones, checked. */
export function allPatterns(more: readonly TextCallPattern[] = []): readonly TextCallPattern[] {
  for (const pattern of more) {
    if (!isName(pattern?.tag) || pattern.tag.toLowerCase() === parallelTag)
      throw new TypeError(
        `a pattern needs a tag of letters, digits, "_", "." and "-" that begins with a letter, such as { tag: 'invoke' }, got ${JSON.stringify(pattern?.tag)}`,
      )
    if (pattern.nameAttribute !== undefined && !isName(pattern.nameAttribute))
      throw new TypeError(
        `the pattern "${pattern.tag}" needs a nameAttribute such as 'name', got ${JSON.stringify(pattern.nameAttribute)}`,
      )
    if (![undefined, 'attribute', 'json'].includes(pattern.nameIn))
      throw new TypeError(
        `the pattern "${pattern.tag}" needs a nameIn of 'attribute' or 'json', got ${JSON.stringify(pattern.nameIn)}`,
      )
  }
  return [...defaultPatterns, ...more]
}

const isName = (name: unknown): boolean => typeof name === 'string' && /^[A-Za-z][\w.-]{0,63}$/.test(name)

/** A call in a text. */
export interface ScannedCall {
  readonly name: string
  /** Its opening tag, its body, and its closing tag, as far as they are there. */
  readonly words: readonly [head: string, body: string, tail: string]
  /** Its name is in the body. */
  readonly nameIn?: 'json'
  readonly isParallel: boolean
}

/**
 * The parts of a text, in order. A `gap` is beside a call and neither text nor call: spaces, the parallel wrapper, a fence
 * around calls. After a `start` comes its `call`, or `void` if it was never complete; then it follows as text. The gap
 * before a call comes just before the `call`. A `thought` means that everything before it, calls too, was a thought.
 */
export type Scanned =
  | { readonly type: 'text' | 'gap' | 'args'; readonly text: string }
  | { readonly type: 'start'; readonly name: string }
  | { readonly type: 'call'; readonly call: ScannedCall }
  | { readonly type: 'void' | 'thought' }

export interface ScanOptions {
  readonly patterns: readonly TextCallPattern[]
  /** Calls in a fence count only if their tool is known. Default: all are. */
  readonly isKnown?: (name: string) => boolean
  /** False inside a fence. */
  readonly fences?: boolean
}
