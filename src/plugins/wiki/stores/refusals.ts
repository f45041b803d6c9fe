import { AgentError } from '../../../core/errors.ts'
import { canonicalJson } from '../../../platform/canonical-json.ts'
import { PageChanged, type Tiddler, type WikiWrite } from '../knowledge-store.ts'

/** Nobody knows a workspace of this name. */
export function noSuchWorkspace(name: string, known: readonly string[]): never {
  const there = known.length > 0 ? `there are ${known.map((one) => JSON.stringify(one)).join(', ')}` : 'there are none'
  throw new AgentError(`There is no workspace ${JSON.stringify(String(name).slice(0, 200))}; ${there}`)
}

/** Somebody wants to change what may not be changed. */
export function readOnlyWorkspace(name: string): never {
  throw new AgentError(`The workspace ${JSON.stringify(name)} is read-only; change another one, or only read`)
}

/** A tiddler that is to be shown is not there. */
export function noSuchTiddler(title: string, workspace: string): never {
  throw new AgentError(
    `There is no tiddler ${JSON.stringify(String(title).slice(0, 200))} in the workspace ${JSON.stringify(workspace)}; look for its title with a filter such as "[search[…]]"`,
  )
}

/** Somebody writes on the ground of what he read, and that is no longer so. */
export function checkSame(title: string, present: Tiddler | undefined, { ifSame }: WikiWrite = {}): void {
  if (ifSame !== undefined && canonicalJson(present ?? null) !== canonicalJson(ifSame)) throw new PageChanged(title)
}
