import { resolve } from 'node:path'
import { trustByDigest } from '../../authority/trust/enter-project.ts'
import { digestsById } from '../../authority/trust/item-gate.ts'
import { digestOfItems, listItems, type ProjectItem } from '../../authority/trust/project-items.ts'
import { describeNames, projectNames } from '../../authority/trust/project-names.ts'
import { createTrustList, type TrustEntry, type TrustList } from '../../authority/trust/trust-list.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { confirm } from '../agents/confirm.ts'
import { exitCodes, UsageError } from '../cli-error.ts'
import type { Args } from '../command.ts'
import { claudeSearch, userConfig } from '../config/config.ts'
import type { Io } from '../io.ts'

interface TrustValues {
  readonly digest?: string
  readonly revoke?: boolean
  readonly list?: boolean
}

/** `libero trust`. */
export async function trust({ values, words }: Args<TrustValues>, io: Io): Promise<number> {
  const list = createTrustList({ folder: io.home })
  const root = resolve(io.cwd, words[0] ?? '.')
  if (values.list) return printAll(list, io)
  if (values.digest !== undefined && values.revoke)
    throw new UsageError('--digest and --revoke do not go together; choose one of them')
  if (values.revoke) {
    const wasTrusted = await list.revoke(root)
    io.out(`${fullyVisible(root)} ${wasTrusted ? 'is no longer trusted' : 'was not trusted'}`)
    return exitCodes.done
  }
  const search = claudeSearch((await userConfig(io.home))?.config)
  const items = await listItems(root, search)
  const grant = async (digest: string): Promise<number> => {
    await trustByDigest(list, root, digest, undefined, search)
    io.out(`${fullyVisible(root)} is trusted as it is now`)
    return exitCodes.done
  }
  if (values.digest !== undefined) {
    await grant(values.digest)
    for (const line of problems(items)) io.out(line)
    return exitCodes.done
  }
  const known = await list.lookup(root)
  io.out(`${fullyVisible(root)}: ${standing(known, items)}`)
  io.out(describeNames(await projectNames(root, search)))
  for (const { kind, problem, shown } of items) if (kind === 'mcp' && problem === undefined) io.out(shown)
  for (const line of problems(items)) io.out(line)
  const refusal = await list.refusal(root)
  if (refusal !== undefined) io.out(`This folder cannot be trusted as a project: ${fullyVisible(refusal)}`)
  const digest = digestOfItems(items)
  io.out(`digest: ${digest}`)
  if (refusal !== undefined || isTrustedAsIs(known, items)) return exitCodes.done
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true) {
    io.out('Read these files, then: libero trust --digest <digest>')
    return exitCodes.done
  }
  // What is trusted is what was listed: if a file changes meanwhile, the digest differs.
  if (await confirm('Trust this project as it is now? Read its files first.', io)) return grant(digest)
  io.out('nothing was changed')
  return exitCodes.done
}

async function printAll(list: TrustList, io: Io): Promise<number> {
  for (const { canonicalPath, decision, grantedAt } of await list.list())
    io.out(`${decision}  ${fullyVisible(canonicalPath)}  (${fullyVisible(String(grantedAt))})`)
  return exitCodes.done
}

function standing(known: TrustEntry | undefined, items: readonly ProjectItem[]): string {
  if (known?.decision !== 'trusted') return known?.decision ?? 'not decided'
  return isTrustedAsIs(known, items) ? 'trusted' : 'trusted, but files are new or have changed since'
}

function isTrustedAsIs(known: TrustEntry | undefined, items: readonly ProjectItem[]): boolean {
  if (known?.decision !== 'trusted') return false
  const now = Object.entries(digestsById(items.filter(({ problem }) => problem === undefined)))
  return now.every(([id, digest]) => known.items?.[id] === digest)
}

/** Items that are left out regardless of trust. */
const problems = (items: readonly ProjectItem[]): string[] =>
  items.flatMap(({ shown, problem }) =>
    problem === undefined ? [] : [`left out: ${shown.split('\n')[0]}: ${problem}`],
  )
