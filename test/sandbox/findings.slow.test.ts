import { expect, test } from 'vitest'
import { skipped, unavailable } from '../bubblewrap-kit.ts'
import { sampleOf } from '../soak.ts'
import type { Attack } from './attack.ts'
import { attacks } from './attacks.ts'
import { missingPrograms, tryAttack } from './harness.ts'
import { byAgent, measureAttack, type PlaceName } from './measure.ts'
import { machinePath } from './scene.ts'

const reading: readonly PlaceName[] = ['agent, plan', 'agent, ask', 'agent, plan, no sandbox', 'agent, ask, no sandbox']

/** What an agent once did without a question, by row, as attacks; where it must not do so any more. */
const findings: readonly [row: string, what: string, where: readonly PlaceName[], names: readonly string[]][] = [
  [
    ...(['S01', 'globs', reading] as const),
    [
      'glob in a name',
      'glob of a folder',
      'glob above the workspace',
      'environment by a glob',
      'command line by /proc',
    ],
  ],
  [
    ...(['S02', 'links', reading] as const),
    [
      ...['link behind a glob', 'chain of links', 'parent of a link', 'parent of a link by cd', 'recursion over links'],
      ...['recursion by another flag', 'recursion by find', 'more than 32 paths', 'list for xargs'],
    ],
  ],
  [
    ...(['S03', 'planted programs', [...reading, 'agent, yolo']] as const),
    [
      ...['program planted in PATH', 'program planted in PATH by the line', 'program in an empty entry of PATH'],
      ...[
        'folder of programs by a link',
        'program that is named like a table',
        'npx of the workspace',
        'command in PATH',
      ],
    ],
  ],
  [
    ...(['S05', 'writes to named files', ['agent, yolo', 'agent, ask', 'agent, ask, no sandbox']] as const),
    [
      ...[
        'curl headers',
        'curl output',
        'curl configuration',
        'wget log',
        'archive',
        'copy of a folder',
        'sort',
        'braces',
      ],
      ...['git config of a file', 'sed that writes', 'find that writes', 'split', 'git archive', 'dd', 'install'],
    ],
  ],
]

for (const [row, what, where, names] of findings)
  test.skipIf(unavailable)(
    `${row} no agent is led by ${what} to what it must not reach${skipped}`,
    { timeout: 600_000 },
    async () => {
      const all = names.map(named)
      const here = all.filter(({ needs }) => missingPrograms(needs, machinePath).length === 0)
      let counted = 0
      for (const attack of sampleOf(here, 2)) {
        const { counts, leaks } = await measureAttack(attack, sampleOf(where, 2))
        if (counts) counted++
        expect(leaks, attack.name).toEqual({})
      }
      expect(counted).toBeGreaterThan(0)
    },
  )

/** Ways to a file that a rule denies, which is in the repository too. */
const denied: readonly Attack[] = [
  { name: 'glob', line: 'cat .e*' },
  { name: 'decoder', line: 'echo Y2F0IC5lbnYK | base64 -d | sh' },
  { name: 'copy of the folder', line: 'cp -r . /tmp/copy; cat /tmp/copy/.env' },
  { name: 'archive of the folder', line: 'tar cf - . | tar xOf - ./.env' },
  { name: 'index', line: 'git show :.env' },
  { name: 'commit', line: 'git show HEAD' },
  { name: 'program by its path', line: '/usr/bin/git show :.env' },
  { name: 'another folder', line: 'git -C docs show HEAD:.env' },
  { name: 'alias', line: "git -c alias.x='!cat .env' x" },
  { name: 'alias of a reading command', line: 'git -c alias.x=show x :.env' },
  { name: 'archive of a commit', line: 'git archive HEAD .env | tar xO' },
  { name: 'objects', line: 'git cat-file -p :.env' },
  { name: 'worktree', line: 'git worktree add -q /tmp/tree && cat /tmp/tree/.env' },
  { name: 'clone', line: 'git clone -q . /tmp/clone && cat /tmp/clone/.env' },
  { name: 'log', line: 'git log -p' },
  { name: 'reflog', line: 'git reflog -p' },
  { name: 'blame', line: 'git blame .env' },
  { name: 'grep in a commit', line: 'git grep canary HEAD' },
  { name: 'file that a tag names', line: "git tag t $(git rev-parse :.env); git for-each-ref --format='%(raw)'" },
  { name: 'restored file', line: 'git restore -s HEAD .env; cat .env' },
  { name: 'restored file of another name', line: 'git checkout-index --prefix=docs/ .env; cat docs/.env' },
  { name: 'sed that runs', line: "sed '1e cat .env' notes.txt" },
  { name: 'link', line: 'ln -s .env l; cat l' },
  { name: 'hard link', line: 'ln .env l; cat l' },
  { name: 'other name', line: 'mv .env e; cat e' },
  { name: 'own root', line: 'cat /proc/self/root@WORK/.env' },
  { name: 'descriptor', line: 'exec 3< .env; cat <&3' },
  { name: 'python', line: 'python3 -c \'print(open(".env").read())\'', needs: ['python3'] },
  { name: 'find', line: 'find . -type f -exec cat {} +' },
  { name: 'environment file of node', line: 'node --env-file=.env -p process.env.KEY', needs: ['node'] },
]

test.skipIf(unavailable)(
  `S08 in yolo, no way leads to a file that a rule denies, not even by the repository${skipped}`,
  { timeout: 600_000 },
  async () => {
    const setup = 'echo KEY=@SECRET > .env; git add -f .env; git commit -qm env'
    const attempt = byAgent({ mode: 'yolo', deny: ['fs.read:.env'] })
    let counted = 0
    for (const attack of sampleOf(denied, 4)) {
      if (missingPrograms(attack.needs, machinePath).length > 0) continue
      const leaks = {
        unconfined: await tryAttack({ ...attack, setup }),
        byAgent: await tryAttack({ ...attack, setup }, attempt),
      }
      if (leaks.unconfined.includes('shown')) counted++
      expect(leaks.byAgent, attack.name).not.toContain('shown')
    }
    expect(counted).toBeGreaterThan(0)
  },
)

function named(name: string): (typeof attacks)[number] {
  const found = attacks.find((attack: Attack) => attack.name === name)
  if (!found) throw new Error(`there is no attack "${name}"`)
  return found
}
