import { fullyVisible, withoutHidden } from '../platform/visible-text.ts'
import { readFrontMatter, splitFrontMatter } from './front-matter.ts'
import type { Skill, SkillProblem } from './skill.ts'
import { nameFaults, normalName, whyDangerous } from './skill-name.ts'

/** The fields of a SKILL.md. The caller adds its location. */
export type SkillFacts = Omit<Skill, 'source' | 'folder' | 'path' | 'entry' | 'instructions'>

/** A parsed SKILL.md. `skill` is absent if it cannot be used; `problems` give reasons and warnings. */
export interface ParsedSkill {
  readonly skill?: SkillFacts
  /** The text below the front matter, without invisible characters. */
  readonly instructions: string
  readonly problems: readonly SkillProblem[]
}

/**
 * Parses a SKILL.md leniently: it is skipped only if it has no description, cannot be read, or has a name that could be
 * taken for a path or markup. Other unusual names are used as written.
 */
export async function parseSkill(
  text: string,
  folderName?: string,
  path = folderName ?? 'SKILL.md',
): Promise<ParsedSkill> {
  const parts = splitFrontMatter(text)
  if ('failure' in parts) return { instructions: '', problems: [{ path, problem: parts.failure, isSkipped: true }] }
  const instructions = withoutHidden(parts.body).text
  const { fields, failure = '', repaired } = await readFrontMatter(parts.yaml)
  if (!fields) return { instructions, problems: [{ path, problem: fullyVisible(failure), isSkipped: true }] }
  const notes = new Notes(path)
  if (repaired) notes.warn(repaired)
  const skill = factsOf(fields, notes, folderName)
  return { ...(skill && { skill }), instructions, problems: notes.problems }
}

/** The fields of the standard, and those that Libero reads besides. */
export const standardFields: readonly string[] = [
  'name',
  'description',
  'license',
  'compatibility',
  'metadata',
  'allowed-tools',
]
export const ownFields: readonly string[] = ['paths', 'model', 'thinking', 'disable-model-invocation']

/** Length limits of the standard. */
export const mostDescription = 1024
export const mostCompatibility = 500

class Notes {
  readonly problems: SkillProblem[] = []
  readonly #path: string
  constructor(path: string) {
    this.#path = path
  }
  warn(problem: string, field?: string): void {
    this.problems.push({ path: this.#path, problem, isSkipped: false, ...(field && { field }) })
  }
  skip(problem: string, field?: string): undefined {
    this.problems.push({ path: this.#path, problem, isSkipped: true, ...(field && { field }) })
  }
}

function factsOf(fields: ReadonlyMap<string, unknown>, notes: Notes, folderName?: string): SkillFacts | undefined {
  const text = (field: string): string => textOf(fields.get(field), field, notes)
  const name = nameOf(text('name'), notes, folderName)
  if (name === undefined) return undefined
  const description = text('description')
  if (description === '') return notes.skip('it has no description, by which a model would choose it', 'description')
  warnOfLength(description, mostDescription, 'description', notes)
  const [license, compatibility, model, thinking] = ['license', 'compatibility', 'model', 'thinking'].map(text)
  warnOfLength(compatibility!, mostCompatibility, 'compatibility', notes)
  const metadata = metadataOf(fields.get('metadata'), notes)
  const allowedTools = listOf(fields.get('allowed-tools'), 'allowed-tools', notes)
  const paths = listOf(fields.get('paths'), 'paths', notes)
  const isHidden = /^(?:true|yes|on|1)$/i.test(text('disable-model-invocation'))
  const others = [...fields.keys()].filter((key) => !standardFields.includes(key) && !ownFields.includes(key))
  if (others.length > 0) notes.warn(`fields that mean nothing here: ${fullyVisible(others.join(', ').slice(0, 300))}`)
  return {
    name,
    description,
    ...(license && { license }),
    ...(compatibility && { compatibility }),
    ...(metadata && { metadata }),
    ...(allowedTools && { allowedTools }),
    ...(paths && { paths }),
    ...(model && { model }),
    ...(thinking && { thinking }),
    ...(isHidden && { isHidden }),
  }
}

function nameOf(written: string, notes: Notes, folderName?: string): string | undefined {
  const name = normalName(written || (folderName ?? ''))
  if (name === '') return notes.skip('it has no name', 'name')
  const danger = whyDangerous(name)
  if (danger) return notes.skip(danger, 'name')
  if (written === '') notes.warn('it has no name, so that of its folder is used', 'name')
  for (const fault of nameFaults(name, folderName)) notes.warn(fault, 'name')
  return name
}

/** Removes invisible characters, except from a name, which they make dangerous. */
function textOf(value: unknown, field: string, notes: Notes): string {
  if (value === undefined) return ''
  if (typeof value !== 'string') {
    notes.warn(`${field} is no text and is ignored`, field)
    return ''
  }
  if (field === 'name') return value.trim()
  const { text, hidden } = withoutHidden(value)
  if (hidden > 0) notes.warn(`${field} has ${hidden} hidden characters, which are left out`, field)
  return text.trim()
}

function warnOfLength(text: string, most: number, field: string, notes: Notes): void {
  const length = [...text].length
  if (length > most) notes.warn(`${field} has ${length} characters, where ${most} is the limit`, field)
}

function metadataOf(value: unknown, notes: Notes): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === '') return undefined
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, one]) => [asText(key), asText(one)]))
  notes.warn('metadata is no list of fields and is ignored', 'metadata')
  return undefined
}

/** An empty value is ignored; an empty list means none. */
function listOf(value: unknown, field: string, notes: Notes): readonly string[] | undefined {
  if (value === undefined) return undefined
  const words = splitWords(value, field === 'paths' ? 'commas' : 'blanks and commas').map(
    (word) => withoutHidden(word).text,
  )
  if (words.length > 0 || (Array.isArray(value) && value.length === 0)) return words
  notes.warn(`${field} is neither a text nor a list of texts and is ignored`, field)
  return undefined
}

function asText(value: unknown): string {
  if (typeof value === 'string') return withoutHidden(value).text
  try {
    return withoutHidden(JSON.stringify(plain(value, { parts: 500 })) ?? '').text
  } catch {
    return ''
  }
}

/** Aliases can make a value contain itself, so the size is bounded. */
function plain(value: unknown, left: { parts: number }): unknown {
  if (left.parts-- <= 0) throw new RangeError('too large')
  if (Array.isArray(value)) return value.map((one) => plain(one, left))
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, one]) => [String(key), plain(one, left)]))
  return value
}

/** The words of a list, or of a text separated by blanks or commas. Text in parentheses stays together. */
function splitWords(value: unknown, separators: 'blanks and commas' | 'commas' = 'blanks and commas'): string[] {
  if (Array.isArray(value)) return value.filter((item) => typeof item === 'string').flatMap((item) => item.trim() || [])
  if (typeof value !== 'string') return []
  const isBetween = separators === 'commas' ? /[,\n]/ : /[\s,]/
  const words: string[] = []
  let word = ''
  let depth = 0
  for (const sign of separators === 'commas' ? value : value.replace(blankBefore, '')) {
    if (depth === 0 && isBetween.test(sign)) {
      words.push(word)
      word = ''
      continue
    }
    if (opening.has(sign)) depth++
    if (closing.has(sign)) depth = Math.max(0, depth - 1)
    word += sign
  }
  return [...words, word].flatMap((one) => one.trim() || [])
}

// In `Bash (git:*)` the blank does not separate: as two words, the first would allow every command.
const blankBefore = /(?<=[^\s,])[ \t]+(?=\()/g

// Globs have commas in braces: src/**/*.{ts,tsx}
const opening = new Set('({')
const closing = new Set(')}')
