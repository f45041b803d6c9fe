import type { RemoteClient } from '../libero.ts'

/** A session of a family of copies. */
export interface ForkBranch {
  readonly id: string
  readonly title?: string
  readonly updatedAt: number
  /** The session that it was copied from, and the last entry that both share. */
  readonly origin?: { readonly session: string; readonly seq: number }
  readonly labels: readonly { readonly seq: number; readonly at: number; readonly text: string }[]
}

/** The family of a session. */
export async function forks(client: RemoteClient, id: string): Promise<readonly ForkBranch[]> {
  const answer = await client.request('GET', `/v1/sessions/${encodeURIComponent(id)}/forks`)
  return (answer as { readonly branches: readonly ForkBranch[] }).branches
}
