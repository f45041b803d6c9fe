import { projectNames } from '../../authority/trust/project-names.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { openWorkspace, type Workspace } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { gatherServers, type ServerEntry } from './gather-servers.ts'
import { checkedFlags } from './servers-here.ts'

/** Every server that is written down here, used or not. */
export interface ServersAround {
  readonly entries: readonly ServerEntry[]
  /** What waits for somebody to trust it. */
  readonly pending: readonly PendingServer[]
  readonly notices: readonly string[]
}

export interface PendingServer {
  /** Of a project that is not trusted only the file is known. */
  readonly name?: string
  readonly where: string
  readonly why: string
  readonly entry?: unknown
}

interface ServersWish {
  readonly mcp?: readonly string[]
  readonly cwd?: string
}

/** Looks for them. Nobody is asked, nothing is started, and nothing of a project that is not trusted is opened. */
export async function serversAround({ mcp, cwd }: ServersWish, io: Io): Promise<ServersAround> {
  const flags = await checkedFlags(mcp, io)
  const workspace = await openWorkspace(await resolveCwd(cwd, io), { io })
  workspace.project.dispose() // it is over in a moment; nobody has to hear of a revocation
  const { project, loaded } = workspace
  const entries = gatherServers({ ...(flags && { flags }), workspace, io })
  const pending = project.isTrusted() ? waiting(workspace) : await unopened(workspace)
  return { entries, pending, notices: loaded.warnings }
}

function waiting({ project }: Workspace): PendingServer[] {
  return project.pending
    .filter(({ kind }) => kind === 'mcp')
    .map(({ path, server, why, problem }) => ({
      ...server,
      where: path,
      why: problem === undefined ? `it is ${why} and nobody has accepted it; see: libero trust` : fullyVisible(problem),
    }))
}

async function unopened({ project }: Workspace): Promise<PendingServer[]> {
  const { names } = await projectNames(project.root)
  const why = 'the project is not trusted, so it was not opened; see: libero trust'
  return names.filter(({ kind }) => kind === 'mcp').map(({ path }) => ({ where: path, why }))
}
