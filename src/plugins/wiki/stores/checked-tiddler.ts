import { AgentError } from '../../../core/errors.ts'
import { canonicalJson } from '../../../platform/canonical-json.ts'
import { PageChanged, type Tiddler, type WikiWrite } from '../knowledge-store.ts'
import { boundedText, bounds } from './wiki-limits.ts'

/** Checks a tiddler: its fields are texts, and none can be taken for another one in a file. */
export function checkedTiddler(tiddler: Tiddler): Tiddler {
  const { title, text, tags, type, created, modified, fields } = tiddler
  checkTitle(title)
  checkText(title, text)
  for (const tag of checkedTags(title, tags)) {
    if (!isLine(tag) || /\[\[|\]\]/.test(tag))
      refuse(title, `the tag ${quoted(tag)}`, 'use a text of one line without [[ and ]]')
  }
  if (type !== undefined && !/^[\w!#$&^.+/-]{1,100}$/.test(type))
    refuse(title, `the type ${quoted(type)}`, 'use one such as text/vnd.tiddlywiki')
  for (const [name, date] of Object.entries({ created, modified })) {
    if (date !== undefined && !/^\d{17}$/.test(date))
      refuse(title, `${name} ${quoted(date)}`, 'write it as YYYYMMDDHHMMSSmmm')
  }
  for (const [name, value] of Object.entries(fields ?? {})) checkField(title, name, value)
  return {
    title,
    ...(text !== undefined && text !== '' && { text }),
    ...(tags !== undefined && tags.length > 0 && { tags: [...new Set(tags)] }),
    ...(type !== undefined && { type }),
    ...(created !== undefined && { created }),
    ...(modified !== undefined && { modified }),
    ...(fields !== undefined && Object.keys(fields).length > 0 && { fields: { ...fields } }),
  }
}

export function checkTitle(title: unknown): asserts title is string {
  if (typeof title === 'string' && title.length <= longestTitle && isLine(title)) return
  throw new AgentError(
    `${quoted(title)} cannot be the title of a tiddler; use a text of one line, of 1 to ${longestTitle} characters, with no space at its ends`,
  )
}

/** A moment as TiddlyWiki writes it, in UTC. */
export function wikiDate(ms: number): string {
  return new Date(ms).toISOString().replace(/\D/g, '')
}

const longestTitle = 1000
const longestField = 100_000
/** These are not in `fields`. */
const ownNames = ['title', 'text', 'tags', 'type', 'created', 'modified']

function checkText(title: string, text: unknown): void {
  if (text === undefined) return
  if (typeof text !== 'string') refuse(title, 'a text that is no text', 'give a string')
  else if (text.length > bounds.textCharacters)
    refuse(title, `a text of ${text.length} characters`, `use at most ${bounds.textCharacters}`)
}

function checkedTags(title: string, tags: unknown): readonly string[] {
  if (tags === undefined) return []
  if (Array.isArray(tags) && tags.length <= 1000) return tags
  return refuse(title, 'tags that are no list', 'give a list of at most 1000 texts')
}

function checkField(title: string, name: string, value: unknown): void {
  if (ownNames.includes(name)) refuse(title, `"${name}" among "fields"`, `give it beside "fields", as "${name}"`)
  // A line end in a name would begin another field.
  if (!isLine(name) || name.length > 200 || name === '__proto__')
    refuse(title, `a field named ${quoted(name)}`, 'use a short name of one line')
  if (typeof value !== 'string') refuse(title, `a field "${name}" that is no text`, 'give a string')
  else if (value.length > longestField)
    refuse(title, `a field "${name}" of ${value.length} characters`, `use at most ${longestField}, or the text`)
}

const isLine = (text: unknown): boolean =>
  typeof text === 'string' &&
  text !== '' &&
  text.trim() === text &&
  !/[\p{Cc}\u2028\u2029]/u.test(text) &&
  text.isWellFormed()

function refuse(title: string, what: string, instead: string): never {
  throw new AgentError(`The tiddler ${quoted(title)} cannot have ${what}; ${instead}`)
}

const quoted = (value: unknown): string => JSON.stringify(boundedText(String(value), 100))

export function throwUnknownWorkspace(name: string, known: readonly string[]): never {
  const there = known.length > 0 ? `there are ${known.map((one) => JSON.stringify(one)).join(', ')}` : 'there are none'
  throw new AgentError(`There is no workspace ${JSON.stringify(String(name).slice(0, 200))}; ${there}`)
}

export function throwReadOnly(name: string): never {
  throw new AgentError(`The workspace ${JSON.stringify(name)} is read-only; change another one, or only read`)
}

export function throwUnknownTiddler(title: string, workspace: string): never {
  throw new AgentError(
    `There is no tiddler ${JSON.stringify(String(title).slice(0, 200))} in the workspace ${JSON.stringify(workspace)}; look for its title with a filter such as "[search[…]]"`,
  )
}

/** Throws `PageChanged` if the page is not as the writer read it. */
export function checkUnchanged(title: string, present: Tiddler | undefined, { ifSame }: WikiWrite = {}): void {
  if (ifSame !== undefined && canonicalJson(present ?? null) !== canonicalJson(ifSame)) throw new PageChanged(title)
}
