import type { Attack, AttackClass, Leak } from './attack.ts'
import { code, git } from './attacks/code.ts'
import { daemons, otherEnds } from './attacks/daemons.ts'
import { descriptors } from './attacks/descriptors.ts'
import { hosts, shell } from './attacks/hosts.ts'
import { confusion, interfaces } from './attacks/interfaces.ts'
import { kernel, leftOvers, network, signals, workspaceSecrets } from './attacks/kernel.ts'
import { processes, reads } from './attacks/reads.ts'
import { repositories } from './attacks/repositories.ts'
import { covered, settings } from './attacks/settings.ts'
import { home, protectedPaths, writes } from './attacks/writes.ts'

export const attackClasses: readonly AttackClass[] = [
  ...[reads, processes, code, shell, hosts, git, writes, home, protectedPaths],
  ...[network, kernel, descriptors, repositories, signals, leftOvers, workspaceSecrets],
  ...[daemons, otherEnds, settings, covered, interfaces, confusion],
]

/** Every attack with the name of its class and the effect by which it counts. */
export const attacks: readonly (Attack & { readonly leak: Leak; readonly class: string })[] = attackClasses.flatMap(
  (group) => group.attacks.map((attack) => ({ leak: group.leak, ...attack, class: group.name })),
)
