import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { codeOf, messageOf } from '../../core/errors.ts'
import { didYouMean, nearest } from '../../core/nearest.ts'
import { imageInfo } from '../../platform/image-info.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { AttachedFile, AttachedTiddler, UserContent } from '../../plugins/message.ts'
import type { KnowledgeStore, Wiki } from '../../plugins/wiki/knowledge-store.ts'
import { hasText } from '../../plugins/wiki/tools/page-text.ts'
import { agentPrefix } from '../../workflow/agent-instance.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { WorkValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { readTask } from '../run/read-task.ts'
import { newSessionId } from '../sessions/session-id.ts'
import { findWorkingAgent, requireAgent } from './find-agent.ts'
import { type OpenedWorkflow, withWorkflow } from './open-workflow.ts'
import { runAgent } from './run-agent.ts'

type SendValues = WorkValues & MessageValues & { readonly json?: boolean }

/** `libero agents send`. */
export async function send({ values, words }: Args<SendValues>, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents send')
  const content = await readMessage(words.slice(1), values, io)
  if (!content) throw new UsageError('agents send needs a message, as in: libero agents send bafitu "thank you"')
  return runAgent({
    values,
    io,
    async begin(opened) {
      const { id } = await findWorkingAgent(opened, asked)
      await checkPages(opened.knowledge, content.wikiTiddlers)
      return { agentId: id, work: () => opened.workflow.sendMsgToAgent(id, content) }
    },
  })
}

/** `libero agents new`. Without a message, the id goes to stdout for scripts. */
export async function create(
  { values, words }: Args<SendValues & { readonly name?: string }>,
  io: Io,
): Promise<number> {
  const [definitionId, ...rest] = words
  if (definitionId === undefined || definitionId === '')
    throw new UsageError('agents new needs a definition; libero agents definitions lists them')
  const hasMessage = rest.length > 0 || values.file !== undefined || values.attach !== undefined
  const content = hasMessage ? await readMessage(rest, values, io) : undefined
  if (!content)
    return withWorkflow(io, async (opened) => {
      const id = await createAgent(opened, definitionId, values.name)
      io.out(values.json ? JSON.stringify({ agentId: id }) : id)
      return exitCodes.done
    })
  return runAgent({
    values,
    io,
    async begin(opened) {
      await checkPages(opened.knowledge, content.wikiTiddlers)
      const agentId = await createAgent(opened, definitionId, values.name)
      return { agentId, work: () => opened.workflow.sendMsgToAgent(agentId, content) }
    },
  })
}

async function createAgent(
  { workflow, definitions }: OpenedWorkflow,
  id: string,
  name: string | undefined,
): Promise<string> {
  const known = definitions.found.map(({ definition }) => definition.id)
  if (!known.includes(id)) {
    const why = definitions.problems.length > 0 ? `; for invalid files see: libero agents definitions` : ''
    throw new CliError(
      `There is no definition "${fullyVisible(id.slice(0, 100))}"${didYouMean(id, known) || `; there are ${known.join(', ')}`}${why}`,
    )
  }
  const agentId = `${agentPrefix}${newSessionId()}`
  return (await workflow.createAgent(id, { id: agentId, ...(name && { name }) })).id
}

const maxBytes = 20 * 1024 * 1024

interface MessageValues {
  readonly file?: string
  readonly attach?: readonly string[]
}

/** The message to an agent: text from arguments or stdin, with a file and wiki pages. */
async function readMessage(
  words: readonly string[],
  { file, attach = [] }: MessageValues,
  io: Io,
): Promise<UserContent | undefined> {
  const attached = file === undefined ? undefined : await readAttached(file, io.cwd)
  const wikiTiddlers = attach.map(readPage)
  const text = await readTask({ words, prompt: undefined }, io, 'task')
  if (text === undefined && !attached && wikiTiddlers.length === 0) return undefined
  return {
    text: text ?? '',
    ...(attached && { file: attached }),
    ...(wikiTiddlers.length > 0 && { wikiTiddlers }),
  }
}

/** `notes/My page`: the wiki, and the title after the first slash. */
function readPage(named: string): AttachedTiddler {
  const slash = named.indexOf('/')
  const [workspaceName, tiddlerTitle] = [named.slice(0, slash), named.slice(slash + 1)]
  if (slash <= 0 || tiddlerTitle === '')
    throw new UsageError(`--attach ${fullyVisible(named)}: name a wiki and a page, as in --attach "notes/My page"`)
  return { workspaceName, tiddlerTitle }
}

async function readAttached(named: string, cwd: string): Promise<AttachedFile> {
  const shown = fullyVisible(named)
  const bytes = await readFile(resolve(cwd, named)).catch((error: unknown) => {
    const why = codeOf(error) === 'ENOENT' ? 'the file does not exist' : `it cannot be read (${codeOf(error)})`
    throw new UsageError(`--file ${shown}: ${why}; name an image or a PDF`, { cause: error })
  })
  if (bytes.length > maxBytes)
    throw new CliError(`--file ${shown} has ${bytes.length} bytes, and the limit is ${maxBytes}; make it smaller`)
  const data = bytes.toString('base64')
  const name = basename(named)
  const image = imageInfo(data)
  if (image) return { name, mediaType: image.type, data }
  if (bytes.subarray(0, 5).toString('latin1') === '%PDF-') return { name, mediaType: 'application/pdf', data }
  throw new UsageError(`--file ${shown} is not a PNG, JPEG, GIF, WebP or PDF; put text into the message itself`)
}

/** Throws if a page does not exist, before the message is sent: after that, only the model would get the error. */
async function checkPages(knowledge?: KnowledgeStore, pages: readonly AttachedTiddler[] = []): Promise<void> {
  for (const page of pages) await checkPage(knowledge, page)
}

async function checkPage(knowledge: KnowledgeStore | undefined, page: AttachedTiddler): Promise<void> {
  const { workspaceName, tiddlerTitle } = page
  const flag = `--attach ${shown(`${workspaceName}/${tiddlerTitle}`)}`
  const names = ((await knowledge?.workspaces()) ?? []).map(({ name }) => name)
  if (!knowledge || names.length === 0) {
    const name = /^[\w-]{1,40}$/.test(workspaceName) ? workspaceName : 'notes'
    throw new UsageError(
      `${flag}: no wikis are configured; add one with: libero config set wikis.${name} '{"folder": "~/${name}"}'`,
    )
  }
  if (!names.includes(workspaceName))
    throw new UsageError(`${flag}: there is no wiki "${shown(workspaceName)}"; there is ${listed(names)}`)
  const problem = await pageProblem(knowledge, page).catch((error: unknown) => {
    const why = fullyVisible(messageOf(error).slice(0, 500))
    throw new CliError(`${flag} cannot be read: ${why}; see: libero config get wikis`, undefined, { cause: error })
  })
  if (problem !== undefined) throw new UsageError(`${flag}: ${problem}`)
}

async function pageProblem(knowledge: KnowledgeStore, attached: AttachedTiddler): Promise<string | undefined> {
  const { workspaceName, tiddlerTitle } = attached
  const wiki = await knowledge.open(workspaceName)
  const page = await wiki.get(tiddlerTitle)
  if (page)
    return hasText(page) ? undefined : `the page contains ${shown(page.type ?? '')}, not text; name another page`
  const near = (await similarTitles(wiki, tiddlerTitle)).map((one) => `"${shown(one)}"`)
  const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'none has a similar title'
  return `the page does not exist; ${hint}`
}

const maxNamed = 10
const maxCompared = 2000

async function similarTitles(wiki: Wiki, title: string): Promise<readonly string[]> {
  const { titles } = await wiki.filter('[!is[system]]', { limit: maxCompared })
  const known = titles.filter((one) => one.length <= 200)
  const part = title.toLowerCase()
  const containing = part.length < 3 ? [] : known.filter((one) => one.toLowerCase().includes(part))
  return [...new Set([...nearest(title, known), ...containing])].slice(0, 3)
}

function listed(names: readonly string[]): string {
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : ''
  return `${names.slice(0, maxNamed).map(shown).join(', ')}${more}`
}

const shown = (text: string): string => fullyVisible(text.slice(0, 100))
