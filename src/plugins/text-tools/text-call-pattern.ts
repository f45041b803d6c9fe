/**
 * A form in which a model may write a call: `<tag name="id">parameters</tag>`, or with its name inside, as in
 * `<tool_call>{"name": "id", "arguments": {}}</tool_call>`, which is what `{ tag: 'tool_call', nameIn: 'json' }` means.
 */
export interface TextCallPattern {
  /** Letters of any case are the same. */
  readonly tag: string
  /** Where the name of the tool stands. Default: `attribute`. */
  readonly nameIn?: 'attribute' | 'json'
  /** The attribute that names the tool. Default: `name`. */
  readonly nameAttribute?: string
}

/** The forms every model may use. */
export const defaultPatterns: readonly TextCallPattern[] = [{ tag: 'tool_use' }, { tag: 'function_call' }]

/** Around calls that may run together. */
export const parallelTag = 'parallel_tool_calls'

/** The forms of everybody and some more, checked. */
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
