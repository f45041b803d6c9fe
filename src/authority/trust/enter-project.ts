import type { AuditSink } from '../../core/authority.ts'
import { CodedError, messageOf } from '../../core/errors.ts'
import type { Interact } from '../../core/interaction.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { askAboutItems, askAboutProject, digestsById, type GateResult, passGate } from './item-gate.ts'
import { createEntry, type EntryFacts, type ProjectEntry } from './project-entry.ts'
import { identifyProject, isSameProject, type ProjectIdentity } from './project-identity.ts'
import { digestOfItems, listItems, type ProjectItem } from './project-items.ts'
import { type ClaudeSearch, isProject, projectNames } from './project-names.ts'
import type { TrustEntry, TrustList } from './trust-list.ts'

/**
 * Determines what of a project may be used: whether it is trusted, whether each of its items is unchanged since it was
 * trusted, and which of its MCP servers may start. Opens no file of the project before a person trusts it.
 */
export async function enterProject(
  cwd: string,
  options: ClaudeSearch & {
    readonly list: TrustList
    /** Without it, or if no person can be asked, an unknown project stays restricted. */
    readonly interact?: Interact
    readonly audit?: AuditSink
    readonly signal?: AbortSignal
    /** The advice in notices: if no person could be asked, the person declined, or a file changed since it was accepted. */
    readonly advice?: string
    /** The user's own instructions, such as `~/.libero/AGENTS.md`. They come first and need no trust. */
    readonly ownInstructions?: string
  },
): Promise<ProjectEntry> {
  const project = await identifyProject(cwd)
  const root = project.canonicalPath
  const { list, ownInstructions, advice, claudeSkills = false, claudeFiles = false } = options
  const always = {
    claudeSkills,
    claudeFiles,
    ...(ownInstructions !== undefined && { ownInstructions }),
    ...(advice !== undefined && { advice }),
  }
  if (!(await isProject(root, options)))
    return createEntry(
      project,
      (await isTrusted(root, options)) ? { ...always, state: 'trusted', list } : { ...always, state: 'plain' },
    )
  const standing = await trustStateOf(project, options)
  if (standing.state !== 'trusted' && standing.state !== 'once') return createEntry(project, { ...always, ...standing })
  return createEntry(project, { ...always, ...standing, ...(await passGates(project, standing, options)), list })
}

type EnterOptions = Parameters<typeof enterProject>[1]

/** A folder without items may still be a trusted repository. */
async function isTrusted(root: string, { list }: EnterOptions): Promise<boolean> {
  const known = await list.lookup(root).catch(() => undefined)
  return known?.decision === 'trusted' && !(await list.refusal(root))
}

interface TrustState {
  readonly state: ProjectEntry['state']
  readonly notice?: string
  readonly known?: TrustEntry
  /** The items a person was shown who decided just now. */
  readonly shown?: ReadonlySet<string>
}

/** The first gate: whether the project is trusted. */
async function trustStateOf(project: ProjectIdentity, options: EnterOptions): Promise<TrustState> {
  const root = project.canonicalPath
  const shown = fullyVisible(root)
  const { list } = options
  const refusal = await list.refusal(root)
  if (refusal) return restricted(options, root, `${shown} cannot be trusted as a project: ${refusal}. ${leftOut}`)
  let known: TrustEntry | undefined
  try {
    known = await list.lookup(root)
  } catch (error) {
    return restricted(options, root, `${messageOf(error)}. ${leftOut}`)
  }
  if (known) {
    await note(options, 'ProjectTrustKnown', root, { decision: known.decision, grantedAt: known.grantedAt })
    if (known.decision === 'trusted') return { state: 'trusted', known }
    return { state: 'declined', notice: declined(shown, options) }
  }
  const names = await projectNames(root, options)
  const answer = await askAboutProject(root, names, options)
  if (answer.choice === undefined)
    return restricted(
      options,
      root,
      `${shown} is not trusted: ${answer.why}. ${leftOut} ${options.advice ?? howToGrant(root)}`,
    )
  if (!isSameProject(project, await identifyProject(root)))
    return restricted(options, root, `Another folder was put at ${shown} while the question was open. ${leftOut}`)
  await note(options, events[answer.choice], root)
  if (answer.choice !== 'decline') {
    const state = answer.choice === 'once' ? 'once' : 'trusted'
    return { state, shown: new Set(names.names.map(({ id }) => id)) }
  }
  await list.decline(root)
  return { state: 'declined', notice: declined(shown, options) }
}

const leftOut = 'Its tools, skills, agents, settings, instructions and MCP servers are left out.'
const events = { trust: 'ProjectTrusted', once: 'ProjectTrustedOnce', decline: 'ProjectDeclined' } as const

function declined(shown: string, { advice }: EnterOptions): string {
  return `${shown} was declined. ${leftOut} ${advice ?? 'To change that, trust it in your trust list.'}`
}

function howToGrant(root: string): string {
  const path = fullyVisible(JSON.stringify(root))
  return `Where no person can be asked, read through the project, take its digest with projectDigest(${path}), and grant exactly that with trustByDigest(list, ${path}, digest).`
}

async function restricted(options: EnterOptions, root: string, notice: string): Promise<TrustState> {
  await note(options, 'ProjectRestricted', root)
  return { state: 'restricted', notice }
}

/** The second and third gate: the project's items, then its MCP servers. */
async function passGates(
  project: ProjectIdentity,
  { state, known, shown }: TrustState,
  options: EnterOptions,
): Promise<Required<Pick<EntryFacts, 'items' | 'pending' | 'notices'>>> {
  const root = project.canonicalPath
  const { notes } = await projectNames(root, options)
  const items = await listItems(root, options)
  const recorded = known?.items ?? {}
  const isKept = state === 'trusted'
  const others = await passGate(
    items.filter(({ kind }) => kind !== 'mcp'),
    recorded,
    // Trusting the project just now covers the items that were shown.
    async (waiting) => (shown ? { ids: shown, isKept } : askAboutItems('changed', root, waiting, options)),
  )
  if (isKept && !known) await options.list.trust(root, { items: digestsById(others.added) })
  else await store(root, others, options)
  const servers = await mcpGate(root, items, recorded, options)
  await store(root, isKept ? servers : { ...servers, added: [] }, options)
  const pending = [...others.pending, ...servers.pending]
  if (pending.length > 0) await note(options, 'ProjectItemsPending', root, { items: pending.map(({ id }) => id) })
  return { items: [...others.accepted, ...servers.accepted], pending, notices: notes }
}

/** The gate for MCP servers. A server may start only if its whole entry was accepted. Prompts show it in full. */
function mcpGate(
  root: string,
  items: readonly ProjectItem[],
  recorded: Readonly<Record<string, string>>,
  options: Pick<EnterOptions, 'interact' | 'signal'>,
): Promise<GateResult> {
  const servers = items.filter(({ kind }) => kind === 'mcp')
  return passGate(servers, recorded, (waiting) => askAboutItems('mcp', root, waiting, options))
}

async function store(root: string, { added }: GateResult, options: EnterOptions): Promise<void> {
  if (added.length === 0) return
  const record = digestsById(added)
  await note(options, 'ProjectItemsAccepted', root, { items: record })
  await options.list.amend(root, record)
}

async function note(
  { audit }: EnterOptions,
  event: string,
  path: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const group = event.startsWith('ProjectItems') ? 'Integrity' : 'TrustDecision'
  await audit?.write({ class: group, event, details: { path, ...more } })
}

/** Trusts a project and its MCP servers if its items have exactly the digest from `projectDigest`. For programs: asks no person. */
export async function trustByDigest(
  list: TrustList,
  root: string,
  digest: string,
  audit?: AuditSink,
  search: ClaudeSearch = {},
): Promise<TrustEntry> {
  const { canonicalPath } = await identifyProject(root)
  const items = await listItems(canonicalPath, search)
  const now = digestOfItems(items)
  if (now !== digest)
    throw new CodedError(
      'Validation/ProjectDigestMismatch',
      `${fullyVisible(canonicalPath)} has the digest ${now}, not ${fullyVisible(digest)}: look at what changed, and grant the new digest if it is fine`,
    )
  const sound = items.filter(({ problem }) => problem === undefined)
  const details = { path: canonicalPath, digest }
  await audit?.write({ class: 'TrustDecision', event: 'ProjectTrustedByDigest', details })
  return list.trust(canonicalPath, { items: digestsById(sound), note: `by digest ${digest}` })
}
