import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Authority } from '../../authority/authority.ts'
import type { ChatHost, DraftStore, ModelChoice, OpenRequest, QueuedDraft } from '../../chat/chat.ts'
import { isRecord } from '../../core/is-record.ts'
import type { SessionStore } from '../../core/store.ts'
import { digestOf } from '../../platform/digest.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'
import { joinLocalRuns } from '../../rpc/join-local-runs.ts'
import type { RunValues } from '../commands/run.ts'
import { type Config, loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { continuesSession } from '../run/flag-files.ts'
import type { OpenSessionOptions } from '../sessions/open-session.ts'
import { openStore, sessionsPath } from '../sessions/open-store.ts'

/** Where the interactive terminal gets agents and sessions from. */
export interface CliHost extends ChatHost {
  /** The session that the flags ask for. */
  readonly first: OpenRequest
  /** What the settings say about the terminal. */
  readonly terminal: NonNullable<Config['terminal']>
  /** Closes the store. To be called after `chat.close()`. */
  close(): Promise<void>
}

interface HostOptions extends OpenSessionOptions {
  readonly io: Io
  /** Absolute. */
  readonly cwd: string
}

/** A host from flags and settings. It keeps one store open for all agents. */
export async function createCliHost(values: RunValues, { io, cwd, pick }: HostOptions): Promise<CliHost> {
  const { config } = await loadConfig({ home: io.home })
  const store = values['no-session'] ? undefined : await openStore(sessionsPath(config, io))
  let signing: Promise<Authority> | undefined
  const signer = (): Promise<Authority> =>
    (signing ??= import('../../authority/authority.ts').then(({ createAuthority }) =>
      createAuthority({ home: io.home }),
    ))
  return {
    ...(store && { store }),
    first: store ? await firstRequest(values, { store, cwd, ...(pick && { pick }) }) : {},
    terminal: config.terminal ?? {},
    profiles: ['build', 'plan'],
    models: () => listChoices(config, io),
    drafts: fileDrafts(join(io.home, 'drafts')),
    joinRuns: joinLocalRuns({ folder: join(io.home, 'run') }),
    // The screen is drawn before the code of agents is loaded.
    openAgent: async (request) =>
      (await import('./open-chat-agent.ts')).openChatAgent(values, request, { io, cwd, store }),
    authority: signer,
    async close() {
      await signing?.then((authority) => authority.close())
      await store?.close?.()
    },
  }
}

async function firstRequest(
  values: RunValues,
  { store, cwd, pick }: Pick<HostOptions, 'cwd' | 'pick'> & { readonly store: SessionStore },
): Promise<OpenRequest> {
  const { resume, continue: isContinued, fork } = values
  if (!continuesSession(values) && !fork) return {}
  const { requestedId } = await import('../sessions/open-session.ts')
  const request = { cwd, continue: isContinued, fork, resume: resume === undefined ? undefined : resume || true }
  const id = await requestedId(store, request, pick)
  if (id === undefined) return {}
  return fork ? { fork: { id } } : { resume: id }
}

/** The models of the providers that can be used. A provider that cannot be asked has none. */
export async function listChoices(config: Config, io: Io): Promise<readonly ModelChoice[]> {
  const { listModels, usableProviders } = await import('../models/model-list.ts')
  const names = await usableProviders(config, io)
  const lists = await Promise.all(names.map((name) => listModels(name, config, io).catch(() => [])))
  return lists.flat().map(({ id, provider, contextWindow }) => ({
    provider,
    model: id,
    ...(contextWindow !== undefined && { contextWindow }),
  }))
}

/** Keeps queued messages in files of a folder, one for each session. */
export function fileDrafts(folder: string): DraftStore {
  // Ids come from embedders and other programs, so they are no file names.
  const pathOf = (sessionId: string): string => join(folder, `${digestOf(sessionId).slice(0, 32)}.json`)
  return {
    load: async (sessionId) => draftsIn((await readTextIfThere(pathOf(sessionId))) ?? '[]'),
    async save(sessionId, queue) {
      const path = pathOf(sessionId)
      if (queue.length === 0) return rm(path, { force: true })
      await writeFileAtomic(path, JSON.stringify(queue))
    },
  }
}

/** A file that another program damaged holds no messages. */
function draftsIn(text: string): readonly QueuedDraft[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list.filter(isDraft) : []
  } catch {
    return []
  }
}

const isDraft = (one: unknown): one is QueuedDraft =>
  isRecord(one) && typeof one.id === 'string' && typeof one.text === 'string'
