import type { SessionStore, SessionSummary } from '../core/store.ts'
import { badRequest, noSession } from './problem.ts'

/**
 * The ids of a tenant's sessions. The store has `<tenant>.<name>`; clients send and see only the name, so that a client
 * cannot name a session of another tenant. Without a tenant both are the same.
 */
export class SessionNames {
  readonly tenant: string | undefined
  readonly #prefix: string

  constructor(tenant: string | undefined) {
    this.tenant = tenant
    this.#prefix = tenant === undefined ? '' : `${tenant}.`
  }

  /** Only ids with this prefix belong to the tenant. */
  get prefix(): string {
    return this.#prefix
  }

  stored(name: string): string {
    if (!isName(name))
      throw badRequest(
        `A session id has 1 to 200 characters and no control characters, got ${JSON.stringify(name.slice(0, 60))}`,
      )
    if (isInternalId(this.#prefix + name))
      throw badRequest('Ids of sessions cannot begin with "libero.": schedules and webhooks are kept there')
    return this.#prefix + name
  }

  shown(id: string): string {
    return id.startsWith(this.#prefix) ? id.slice(this.#prefix.length) : id
  }

  /** A summary as the client sees it. */
  summary({ id, parent, tenant: _, ...summary }: SessionSummary): Omit<SessionSummary, 'tenant'> {
    return { id: this.shown(id), ...summary, ...(parent !== undefined && { parent: this.shown(parent) }) }
  }

  /** The summary of a session of this tenant. Throws the same problem for one of another tenant as for none. */
  async find(store: SessionStore, name: string): Promise<SessionSummary> {
    const summary = await store.find(this.stored(name))
    if (!summary || !(await this.owns(store, summary))) throw noSession(name)
    return summary
  }

  /** Sub-agents belong to the tenant of their root session. */
  async owns(store: SessionStore, summary: SessionSummary): Promise<boolean> {
    if (isInternalId(summary.id)) return false
    if (this.tenant === undefined) return true
    let root: SessionSummary | undefined = summary
    for (let depth = 0; root?.parent !== undefined && depth < 64; depth++) root = await store.find(root.parent)
    return root?.tenant === this.tenant && summary.id.startsWith(this.#prefix)
  }
}

/** The tenant that a session belongs to, by its root: also if the caller is of no tenant and may see all. */
export async function tenantOf(store: SessionStore, id: string): Promise<string | undefined> {
  let root = await store.find(id)
  for (let depth = 0; root?.parent !== undefined && depth < 64; depth++) root = await store.find(root.parent)
  return root?.tenant
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const isName = (name: string): boolean => /^[^\x00-\x1f\x7f]{1,200}$/.test(name) && name.isWellFormed()

/** Sessions that keep schedules and webhooks, which are no conversations. */
export const isInternalId = (id: string): boolean => id.startsWith('libero.')

/** Tenants are part of ids, so their names have no dot. */
export const isTenantName = (name: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(name) && name !== 'libero'
