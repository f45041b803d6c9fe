import type { ToolContext, ToolDef, ToolResult } from '../../../core/tool.ts'
import { digestOfJson } from '../../../platform/canonical-json.ts'
import { boundedKey } from '../../../platform/digest.ts'
import { plannedWriteOf, planWrite } from '../../../tools/change-file.ts'
import { runSerially } from '../../../tools/serial-queue.ts'
import type { PluginSetup } from '../../plugin.ts'
import { PageChanged, type Tiddler } from '../knowledge-store.ts'
import { quoted } from './page-text.ts'
import { type InWorkspace, type OpenedWiki, openWiki, refusal, specOf, type WikiTool } from './wiki-tool.ts'

/** The page to change. */
interface PageToChange extends OpenedWiki {
  readonly title: string
  /** Its new title, for a rename. */
  readonly newTitle?: string
}

/** Returns the new page; `undefined` deletes it. Called again if another writer changed the page meanwhile. */
export type Change = (present: Tiddler | undefined) => Promise<Tiddler | undefined> | Tiddler | undefined

/** `done before`: by an earlier attempt of this call, before its process died. */
type Changed = 'done' | 'done before' | 'nothing to do'

const mostTries = 3

/**
 * Changes a page once: waits for other changes of the wiki, reads the page, computes the change, logs the plan, and writes
 * unless another writer did meanwhile.
 */
export function changePage(ctx: ToolContext, page: PageToChange, change: Change): Promise<Changed> {
  const { knowledge, wiki, title, newTitle = title } = page
  const { signal } = ctx
  return runSerially(knowledge, wiki.info.name, signal, async () => {
    const planned = plannedWriteOf(ctx)
    if (planned && (await isDone(page, planned.after, signal))) return 'done before'
    for (let tries = 0; tries < mostTries; tries++) {
      const present = await wiki.get(title, { signal })
      const before = present ? digestOfPage(present) : null
      if (planned && planned.before !== before)
        throw new Error(
          `${quoted(title)} was changed while the call was interrupted, and was left as it is; look at it again`,
        )
      const next = await change(present)
      const after = next ? digestOfPage(next) : gone
      if (after === before) return 'nothing to do'
      await planWrite(ctx, { path: pageKey(wiki.info.name, title), before, after })
      try {
        if (!next) await wiki.delete(title, { signal, ifSame: present ?? null })
        else if (newTitle === title) await wiki.put(next, { signal, ifSame: present ?? null })
        else await move(page, { present: present ?? null, next, signal })
        return 'done'
      } catch (error) {
        if (!isPageChanged(error)) throw error
      }
    }
    throw new Error(
      `${quoted(title)} is being changed by another writer all the time; nothing was done, try again later`,
    )
  })
}

/** Creates the new page, then deletes the old one. If that was changed meanwhile, the new one is removed. */
async function move({ wiki, title, newTitle = title }: PageToChange, { present, next, signal }: Move): Promise<void> {
  const there = await wiki.get(newTitle, { signal })
  // After a crash between the two steps, the page is from this call.
  const made = there && isSamePage(there, next) ? there : await wiki.put(next, { signal, ifSame: null })
  try {
    await wiki.delete(title, { signal, ifSame: present })
  } catch (error) {
    if (isPageChanged(error)) await wiki.delete(newTitle, { signal, ifSame: made })
    throw error
  }
}

interface Move {
  readonly present: Tiddler | null
  readonly next: Tiddler
  readonly signal: AbortSignal
}

const isPageChanged = (error: unknown): boolean => error instanceof Error && error.name === PageChanged.name

/** A tool that changes a page. Its approvals are by workspace and title, as it cannot name a file. */
export function writingTool<Input extends InWorkspace & { readonly title: string }>(
  { services, entry }: PluginSetup,
  tool: Omit<WikiTool<Input>, 'execute'> & {
    /** A prefix of the approval key, for changes of more than the text. */
    readonly kind?: (input: Input) => string | undefined
    execute(input: Input, opened: OpenedWiki, ctx: ToolContext): Promise<ToolResult>
  },
): ToolDef<Input> {
  return {
    spec: specOf(tool, 'Wikis that are read-only refuse it.'),
    isConcurrencySafe: false,
    replay: 'keyed',
    effects: (input) => (isCode(input) ? ['fs.write', 'exec'] : ['fs.write']),
    timeoutMs: entry.timeoutMs ?? tool.timeoutMs ?? 30_000,
    deriveApprovalKey: (input) => {
      const kind = [isCode(input) ? 'code' : undefined, tool.kind?.(input)].filter((one) => one !== undefined)
      return boundedKey([...kind, pageKey(input.workspaceName, input.title)].join(':'))
    },
    check: (input) => refusal(titleFlaw('title', input.title) ?? tool.flaw?.(input)),
    async execute(input, ctx) {
      const opened = await openWiki(services, input.workspaceName)
      if (opened.wiki.info.isReadOnly)
        throw new Error(`the wiki ${quoted(input.workspaceName)} is read-only; nothing was changed`)
      return tool.execute(input, opened, ctx)
    },
  }
}

/** Why a value cannot be the title of a page. */
export function titleFlaw(name: string, title: unknown): string | undefined {
  if (typeof title !== 'string' || title === '') return `"${name}" must be the title of a page, got nothing`
  if (title.length > 1000) return `"${name}" has ${title.length} characters; 1000 are the most`
  if (/\p{Cc}|\p{Surrogate}/u.test(title))
    return `"${name}" has a line break, a control character or half a character in it`
  return undefined
}

/** Finds a field with half a character (a lone surrogate), which cannot be stored. */
export function halfCharacters(input: Readonly<Record<string, unknown>>, ...names: string[]): string | undefined {
  const name = names.find((one) => typeof input[one] === 'string' && !(input[one] as string).isWellFormed())
  return name && `"${name}" has half a character in it; write the whole character`
}

/** Whether two pages are the same, apart from their dates. */
export const isSamePage = (one: Tiddler, other: Tiddler): boolean => digestOfPage(one) === digestOfPage(other)

/** Whether the page is a system page, or one that a wiki runs as code. */
function isCode(input: object): boolean {
  const { title, newTitle, type, tags, fields } = input as Readonly<Record<string, unknown>>
  const isSystem = [title, newTitle].some((one) => typeof one === 'string' && one.startsWith('$:/'))
  const hasTag = Array.isArray(tags) && tags.some((tag) => typeof tag === 'string' && tag.startsWith('$:/tags/'))
  const names = typeof fields === 'object' && fields !== null ? Object.keys(fields) : []
  const ofFields = names.some((name) => /^(module-type|plugin-type)$/.test(name))
  return isSystem || hasTag || ofFields || (typeof type === 'string' && /javascript/i.test(type))
}

/** Escapes slashes and colons in the name of a wiki, so that it cannot look like another page. */
const pageKey = (workspaceName: string, title: string): string =>
  `${workspaceName.replace(/[%/:]/g, encodeURIComponent)}/${title}`

/** The digest of a missing page. */
const gone = 'gone'

const digestOfPage = ({ title, text = '', tags = [], type = '', fields = {} }: Tiddler): string =>
  digestOfJson({ title, text, tags, type, fields: Object.entries(fields).sort() })

async function isDone({ wiki, title, newTitle = title }: PageToChange, after: string, signal: AbortSignal) {
  const there = await wiki.get(newTitle, { signal })
  if ((there ? digestOfPage(there) : gone) !== after) return false
  return newTitle === title || (await wiki.get(title, { signal })) === undefined
}
