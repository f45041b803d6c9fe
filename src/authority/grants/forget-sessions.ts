import type { Grant } from './grant.ts'
import { createGrantFile } from './grant-file.ts'

/** Removes the grants that count only for these sessions and their children, from those that the user's folder keeps. */
export async function forgetSessionGrants(home: string, sessionIds: readonly string[]): Promise<void> {
  const isMeant = ({ sessionId }: Grant): boolean =>
    sessionId !== undefined && sessionIds.some((id) => sessionId === id || sessionId.startsWith(`${id}/`))
  const store = createGrantFile(`${home}/grants.json`)
  if ((await store.read()).some(isMeant)) await store.change((grants) => grants.filter((grant) => !isMeant(grant)))
}
