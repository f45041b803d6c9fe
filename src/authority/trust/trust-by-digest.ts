import type { AuditSink } from '../../core/authority.ts'
import { CodedError } from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { recordOf } from './item-gate.ts'
import { identifyProject } from './project-identity.ts'
import { digestOfItems, listItems } from './project-items.ts'
import type { ProjectSearchOptions } from './project-names.ts'
import type { TrustEntry, TrustList } from './trust-list.ts'

/** Trusts a project, its MCP servers too, if what it brings has exactly the digest that `projectDigest` gave for it. For programs: nobody is asked. */
export async function trustByDigest(
  list: TrustList,
  root: string,
  digest: string,
  audit?: AuditSink,
  lookFor: ProjectSearchOptions = {},
): Promise<TrustEntry> {
  const { canonicalPath } = await identifyProject(root)
  const items = await listItems(canonicalPath, lookFor)
  const now = digestOfItems(items)
  if (now !== digest)
    throw new CodedError(
      'Validation/ProjectDigestMismatch',
      `${fullyVisible(canonicalPath)} has the digest ${now}, not ${fullyVisible(digest)}: look at what changed, and grant the new digest if it is fine`,
    )
  const sound = items.filter(({ problem }) => problem === undefined)
  const details = { path: canonicalPath, digest }
  await audit?.write({ class: 'TrustDecision', event: 'ProjectTrustedByDigest', details })
  return list.trust(canonicalPath, { items: recordOf(sound), note: `by digest ${digest}` })
}
