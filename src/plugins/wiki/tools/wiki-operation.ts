import { isRecord } from '../../../core/is-record.ts'
import type { ToolContext, ToolResult } from '../../../core/tool.ts'
import { visibleText } from '../../../platform/visible-text.ts'
import { unifiedDiff } from '../../../tools/text/diff.ts'
import { definePlugin } from '../../plugin.ts'
import type { Tiddler } from '../knowledge-store.ts'
import { type Change, changePage, halfCharacters, isSamePage, titleFlaw, writingTool } from './change-page.ts'
import { fenced, hasText, quoted } from './page-text.ts'
import { type InWorkspace, missingPage, type OpenedWiki } from './wiki-tool.ts'

const operations = ['add', 'set', 'append', 'delete', 'rename'] as const

interface Input extends InWorkspace {
  readonly operation: (typeof operations)[number]
  readonly title: string
  readonly text?: string
  readonly tags?: readonly string[]
  readonly type?: string
  readonly fields?: Readonly<Record<string, string>>
  readonly newTitle?: string
}

const description = `Adds, changes, renames or deletes a page of a wiki.
add: a new page; refuses a title that is taken. set: replaces what you give (text, tags, type, fields) and keeps the rest; an empty field is taken away. append: puts text at the end, and adds tags. delete: removes the page. rename: gives it newTitle; links to it stay as they are.
To change a part of a text, use edit-tiddler.`

/** Adds, changes, renames and deletes pages. */
export const wikiOperation = definePlugin({
  toolId: 'wiki-operation',
  displayName: 'Change wiki pages',
  description: 'Adds, changes, renames and deletes pages of a wiki.',
  tools: (setup) => [
    writingTool<Input>(setup, {
      name: 'wiki-operation',
      description,
      properties: {
        operation: { type: 'string', enum: operations, description: 'What to do.' },
        title: { type: 'string', description: 'The page.' },
        text: { type: 'string', description: 'Its text, or what to append.' },
        tags: { type: 'array', items: { type: 'string' }, description: 'Its tags.' },
        type: { type: 'string', description: 'Its media type, such as text/x-markdown. Default: wikitext.' },
        fields: { type: 'object', additionalProperties: { type: 'string' }, description: 'Other fields, as texts.' },
        newTitle: { type: 'string', description: 'For rename.' },
      },
      required: ['operation', 'title'],
      kind: ({ operation }) => (operation === 'delete' || operation === 'rename' ? operation : undefined),
      flaw: flawOf,
      execute: (input, opened, ctx) => operate(input, opened, ctx),
    }),
  ],
})

function flawOf(input: Readonly<Record<string, unknown>>): string | undefined {
  const { operation, title, text, tags, type, fields, newTitle } = input
  if (!operations.includes(operation as Input['operation']))
    return `"operation" must be one of ${operations.join(', ')}, got ${JSON.stringify(operation)?.slice(0, 60)}`
  if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => titleFlaw('tags', tag) === undefined)))
    return '"tags" must be a list of tags, each a text on one line'
  const flaw = fieldsFlaw(fields) ?? halfCharacters(input, 'text', 'type')
  if (flaw !== undefined) return flaw
  if (typeof type === 'string' && /\p{Cc}/u.test(type)) return '"type" must be a media type on one line'
  if (operation === 'rename') {
    if (newTitle === title) return '"newTitle" is the title it has already'
    return titleFlaw('newTitle', newTitle) ?? blankFlaw('newTitle', newTitle)
  }
  if (operation === 'add') return blankFlaw('title', title)
  if (operation === 'append' && (typeof text !== 'string' || text === '')) return 'append needs "text"'
  const isEmpty = [text, tags, type, fields].every((one) => one === undefined)
  return operation === 'set' && isEmpty ? 'set needs at least one of "text", "tags", "type" and "fields"' : undefined
}

const blankFlaw = (name: string, title: unknown): string | undefined =>
  typeof title === 'string' && title.trim() !== title
    ? `"${name}" begins or ends with a blank; take it away`
    : undefined

const ownFields = new Set(['title', 'text', 'tags', 'type', 'created', 'modified'])

function fieldsFlaw(fields: unknown): string | undefined {
  if (fields === undefined) return undefined
  if (!isRecord(fields)) return '"fields" must be an object of texts, such as {"author": "Ada"}'
  for (const [name, value] of Object.entries(fields)) {
    const shown = JSON.stringify(name).slice(0, 100)
    if (ownFields.has(name))
      return `"fields" cannot hold ${shown}: it has a parameter of its own, or is set by the wiki`
    if (name === '' || name.length > 200 || name.trim() !== name || /[\p{Cc}\p{Surrogate}:]/u.test(name))
      return `${shown} cannot be the name of a field: 1 to 200 characters without ":" and line breaks`
    if (typeof value !== 'string' || !value.isWellFormed()) return `the field ${shown} must be a text`
  }
  return undefined
}

async function operate(input: Input, opened: OpenedWiki, ctx: ToolContext): Promise<ToolResult> {
  const { operation, title, newTitle, workspaceName } = input
  const { wiki } = opened
  const texts = { before: '', after: '' }
  const change: Change = async (present) => {
    const next = await nextOf(input, present, opened, ctx)
    texts.before = textOf(present)
    texts.after = textOf(next)
    return next
  }
  const isRename = operation === 'rename' && newTitle !== undefined
  const changed = await changePage(ctx, { ...opened, title, ...(isRename && { newTitle }) }, change)
  const details = { workspaceName, title, operation, ...(isRename && { newTitle }) }
  const where = `${quoted(title)} in ${quoted(workspaceName)}`
  if (changed === 'nothing to do') return { output: `Nothing to change: ${where} is like that already.`, details }
  const done = `${words[operation]} ${where}${isRename ? ` to ${quoted(newTitle)}` : ''}`
  if (changed === 'done before')
    return { output: `${done} (an earlier attempt of this call had already done it)`, details }
  if (operation === 'delete' || isRename)
    return { output: `${done}.${await linksTo(title, wiki, ctx.signal)}`, details }
  if (operation === 'add')
    return {
      output: `${done} (${texts.after.length === 1 ? '1 character' : `${texts.after.length} characters`}).`,
      details,
    }
  const diff = visibleText(await unifiedDiff(title, texts.before, texts.after, { context: 1, maxChars: 2000 }))
  const output = diff === '' ? `${done}; its text stays as it is.` : `${done}.\n${fenced(diff.trimEnd())}`
  return { output, details: { ...details, diff } }
}

const words: Readonly<Record<Input['operation'], string>> = {
  add: 'Added',
  set: 'Changed',
  append: 'Appended to',
  delete: 'Deleted',
  rename: 'Renamed',
}

const textOf = (page: Tiddler | undefined): string => (page && hasText(page) ? (page.text ?? '') : '')

/** The new page. Throws if the operation does not fit the present page. */
async function nextOf(
  input: Input,
  present: Tiddler | undefined,
  { wiki }: OpenedWiki,
  { signal, attempt }: ToolContext,
): Promise<Tiddler | undefined> {
  const { operation, title, text, tags, newTitle = title } = input
  if (operation === 'add') {
    if (present) throw new Error(`${taken(title, wiki.info.name)}; use "set" or "append", or another title`)
    return withGiven({ title, text: '' }, input)
  }
  if (!present) {
    const hint = operation === 'delete' || operation === 'rename' ? '' : ' (to make it, use "add")'
    throw new Error(`${await missingPage(wiki, title, signal)}${hint}`)
  }
  if (operation === 'delete') return undefined
  if (operation === 'set') return withGiven(present, input)
  if (operation === 'append') {
    if (!hasText(present)) throw new Error(`${quoted(title)} holds ${present.type}, not text; nothing was appended`)
    const old = present.text ?? ''
    const glue = old === '' || old.endsWith('\n') ? '' : '\n'
    const all = [...new Set([...(present.tags ?? []), ...(tags ?? [])])]
    return withGiven({ ...present, text: old + glue + text }, { fields: input.fields, tags: all })
  }
  const renamed = { ...present, title: newTitle }
  const there = await wiki.get(newTitle, { signal })
  // After a crash between the two steps, the page is from this call.
  if (there && !(attempt > 1 && isSamePage(there, renamed)))
    throw new Error(`${taken(newTitle, wiki.info.name)}; ${quoted(title)} keeps its title`)
  return renamed
}

const taken = (title: string, wiki: string): string => `there is a page ${quoted(title)} in ${quoted(wiki)} already`

type Given = { readonly [Name in 'text' | 'tags' | 'type' | 'fields']?: Input[Name] | undefined }

function withGiven(page: Tiddler, { text, tags, type, fields }: Given): Tiddler {
  const merged = Object.entries({ ...page.fields, ...fields }).filter(([name, value]) => {
    const isTakenAway = value === '' && fields !== undefined && Object.hasOwn(fields, name)
    return !isTakenAway
  })
  return {
    ...page,
    ...(text !== undefined && { text }),
    ...(tags !== undefined && (tags.length > 0 || page.tags) && { tags: [...new Set(tags)] }),
    ...(type !== undefined && { type }),
    ...(fields !== undefined && { fields: Object.fromEntries(merged) }),
  }
}

/** Never rejects, as the page is already changed. */
async function linksTo(title: string, wiki: OpenedWiki['wiki'], signal: AbortSignal): Promise<string> {
  const links = await wiki.backlinks(title, { signal, limit: 10 }).catch(() => undefined)
  if (!links || links.total === 0) return ''
  const shown = links.titles.slice(0, 10).map(quoted).join(', ')
  const more = links.total > links.titles.length ? ` and ${links.total - links.titles.length} more` : ''
  return ` ${links.total === 1 ? '1 page still links' : `${links.total} pages still link`} to ${quoted(title)}: ${shown}${more}.`
}
