import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bothProfiles, underLayers } from '../../test/authority/call-kit.ts'
import { around, calls, layers, settings } from '../../test/authority/random-calls.ts'
import { rounds } from '../../test/soak.ts'
import type { Decision } from '../core/authority.ts'
import type { Confinement } from '../core/execution.ts'
import { type GrantedPlacement, reaches } from './confinement.ts'
import { decide } from './decide.ts'
import type { DecisionContext } from './decision-context.ts'
import { factsOf, type JudgedCall } from './judged-call.ts'
import { runsCommands } from './placement.ts'
import { needsNoPermission } from './reading-line.ts'

const runs = { numRuns: rounds(300, 10_000) }

/** Another one each time, with one sandbox, both or none. */
const sandboxes = fc.constantFrom<NonNullable<DecisionContext['sandbox']>>(
  bothProfiles,
  { profiles: ['workspace-write'] },
  { profiles: ['read-only'] },
  { profiles: [] },
)

const placements: fc.Arbitrary<GrantedPlacement> = fc.oneof(
  fc.constant('outside' as const),
  fc.record({
    profile: fc.constantFrom('read-only' as const, 'workspace-write' as const),
    reads: fc.subarray(['/etc/passwd', '/srv/data']),
    writes: fc.subarray(['/etc/passwd', '/srv/data']),
    hosts: fc.constantFrom<Confinement['hosts']>([], ['host.example'], 'any'),
    home: fc.constantFrom('empty' as const, 'readable' as const),
  }),
)

const targetsOf = (call: JudgedCall, kind: string): (string | undefined)[] =>
  factsOf(call).flatMap(({ effect, target }) => (effect === kind ? [target] : []))

test('W07 no command can reach more than what was judged, whatever the rules', () => {
  fc.assert(
    fc.property(calls, layers, around, sandboxes, (call, own, rest, sandbox) => {
      const context = underLayers(own, { ...rest, sandbox })
      const { confinement } = decide(call, context)
      if (confinement === undefined || confinement === 'outside') return
      const { profile, reads, writes, hosts, home, hidden } = confinement
      const isYolo = context.mode === 'yolo'
      expect(targetsOf(call, 'fs.read')).toEqual(expect.arrayContaining([...reads]))
      expect(targetsOf(call, 'fs.write')).toEqual(expect.arrayContaining([...writes]))
      if (hosts !== 'any') expect(targetsOf(call, 'net')).toEqual(expect.arrayContaining([...hosts]))
      else
        expect([isYolo || targetsOf(call, 'net').includes(undefined), context.rules.places.limitsHosts]).toEqual([
          true,
          false,
        ])
      if (home === 'readable') expect(isYolo).toBe(true)
      if (profile === 'read-only') expect(writes).toEqual([])
      for (const pattern of context.rules.places.deniedReads)
        expect(hidden).toContain(pattern?.startsWith('/') ? pattern : `/desk/project/${pattern ?? '*'}`)
    }),
    runs,
  )
})

test('W07 what runs without a question runs in a sandbox, whatever the rules, unless a person chose otherwise', () => {
  fc.assert(
    fc.property(calls, layers, around, sandboxes, (call, own, rest, sandbox) => {
      const context = underLayers(own, { ...rest, sandbox })
      const { verdict, by, confinement } = decide(call, context)
      if (verdict !== 'allow' || by === 'grant' || !runsCommands(call) || needsNoPermission(call)) return
      if (context.mode === 'yolo') expect(confinement === undefined).toBe(!sandbox.profiles.includes('workspace-write'))
      else expect(confinement).toBeTypeOf('object')
    }),
    runs,
  )
})

test('W07 no setting of a project lets a command reach more, unless it makes that a question which a person answered', () => {
  fc.assert(
    fc.property(calls, layers, settings, around, (call, own, project, rest) => {
      const before = decide(call, underLayers(own, rest))
      const after = decide(call, underLayers({ ...own, project }, rest))
      // An ask rule of the project leads to a grant where a stage had decided: what it reaches, a person saw.
      if (before.verdict === 'allow' && after.verdict === 'allow' && after.by !== 'grant') expectNoMore(after, before)
    }),
    runs,
  )
})

test('W07 a grant lets no command reach more than what was granted', () => {
  fc.assert(
    fc.property(calls, layers, placements, sandboxes, (call, own, within, sandbox) => {
      const grant: DecisionContext['grant'] = (wanted) =>
        wanted === undefined || reaches(within, wanted) ? { scope: 'project', grantedBy: 'ann', within } : undefined
      const { verdict, by, confinement } = decide(call, underLayers(own, { sandbox, grant }))
      if (verdict !== 'allow' || by !== 'grant' || !runsCommands(call)) return
      expect(reaches(within, confinement ?? 'outside')).toBe(true)
    }),
    runs,
  )
})

function expectNoMore({ confinement: after }: Decision, { confinement: before }: Decision): void {
  if (before === undefined || before === 'outside') return
  expect(after).toBeTypeOf('object')
  if (after === undefined || after === 'outside') return
  expect({ reaches: reaches(before, after), hidden: after.hidden }).toEqual({
    reaches: true,
    hidden: expect.arrayContaining([...before.hidden]),
  })
}
