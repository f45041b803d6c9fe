import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { withoutHidden } from '../../platform/visible-text.ts'
import { shortened } from './shortened.ts'

/**
 * A bounded schema as models get it: a copy without `$schema`, which some services refuse, and without characters that
 * only machines read. Where those belong to a value or a name they cannot be taken out without changing what is meant;
 * `isTainted` says that there are some.
 */
export function shownSchema(schema: Readonly<Record<string, unknown>>): ShownSchema {
  let hidden = 0
  let isTainted = false

  function shown(value: unknown, word: string): unknown {
    if (typeof value === 'string') {
      if (meant.has(word)) {
        isTainted ||= smuggled.test(value)
        return value
      }
      const clean = withoutHidden(value)
      hidden += clean.hidden
      return shortened(clean.text, longestRemark)
    }
    if (Array.isArray(value)) return value.map((one) => shown(one, word))
    if (!isRecord(value)) return value
    const entries = Object.entries(value).map(([key, inner]) => {
      isTainted ||= smuggled.test(key)
      return [key, shown(inner, wordFor(inner, key, word))]
    })
    return Object.fromEntries(entries)
  }

  const { $schema: _, ...rest } = schema
  return { schema: shown(rest, '') as JsonSchema, hidden, isTainted }
}

export interface ShownSchema {
  readonly schema: JsonSchema
  readonly hidden: number
  readonly isTainted: boolean
}

/** What a part stands under. A property may be called as a word is, and is none: `pattern` is one of many a search. */
function wordFor(part: unknown, key: string, word: string): string {
  if (word === 'dependencies') return Array.isArray(part) ? 'required' : ''
  if (named.has(word)) return ''
  return meant.has(word) ? word : key
}

/** Words with schemas under names that anybody may choose. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Of each text in it, in bytes. */
const longestRemark = 4096

/** Words whose texts are compared with what is sent. */
const meant = new Set(['enum', 'const', 'default', 'pattern', 'required', 'dependentRequired', '$ref', '$anchor'])

/** Tag characters, selectors that carry bytes, and what turns text around. */
const smuggled = /[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e01ef}]/u
