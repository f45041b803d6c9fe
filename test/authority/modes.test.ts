import { afterAll, describe, expect, test } from 'vitest'
import { type Explanation, explainLine } from '../../src/authority/rules/explain.ts'
import type { SecurityMode } from '../../src/authority/rules/settings.ts'
import type { SandboxSupport } from '../../src/core/execution.ts'
import { createShellReader } from '../../src/shell/shell-reader.ts'
import { bothProfiles } from './call-kit.ts'

const reader = createShellReader()
afterAll(() => reader.close())

const none: SandboxSupport = { profiles: [], why: 'bubblewrap is missing' }
const modes: readonly SecurityMode[] = ['plan', 'ask', 'allowlist', 'yolo']

/**
 * What becomes of a line in each mode, with a sandbox and without one. `reads` and `writes`: it runs without a question,
 * in `read-only` or `workspace-write`. `open`: in `workspace-write`, with any network and a readable home. `runs`: with all
 * rights. `ask?` with what a person is offered, if there is a sandbox; `no`: it is refused.
 */
const table = `
                                    | plan        | ask          | allowlist    | yolo
cd src && pwd                       | reads  runs | reads  runs  | reads  runs  | open  runs
cat app.js                          | reads  runs | reads  runs  | reads  runs  | open  runs
ls *.js                             | reads  no   | reads  ask?  | reads  ask?  | open  runs
grep -r x .                         | reads  no   | reads  ask?  | reads  ask?  | open  runs
git diff                            | reads  no   | reads  ask?  | reads  ask?  | open  runs
cat $(ls)                           | reads  no   | reads  ask?  | reads  ask?  | open  runs
for f in *.js; do head -1 $f; done  | reads  no   | reads  ask?  | reads  ask?  | open  runs
tsc --noEmit                        | no     no   | reads  ask?  | reads  ask?  | open  runs
node -e 1                           | no     no   | reads  ask?  | reads  ask?  | open  runs
pip list                            | no     no   | reads  ask?  | reads  ask?  | open  runs
tar tzf a.tgz                       | no     no   | reads  ask?  | reads  ask?  | open  runs
tar xzf a.tgz                       | no     no   | ask?writes ask? | ask?writes ask? | open runs
x --version                         | no     no   | reads  ask?  | reads  ask?  | open  runs
git config user.name                | reads  no   | reads  ask?  | reads  ask?  | open  runs
git config user.name x              | no     no   | ask?writes ask? | ask?writes ask? | open runs
npm test                            | no     no   | writes ask?  | writes ask?  | open  runs
make                                | no     no   | ask?writes ask? | writes ask? | open runs
touch a                             | no     no   | ask?writes ask? | ask?writes ask? | open runs
git commit -m x                     | no     no   | ask?writes ask? | ask?writes ask? | open runs
npm install                         | no     no   | ask?writes+any ask? | ask?writes+any ask? | open runs
curl example.org                    | no     no   | ask?writes+example.org ask? | ask?writes+example.org ask? | open runs
cu$x y                              | no     no   | ask?writes ask? | ask?writes ask? | open runs
cat /etc/hosts                      | ask?reads ask? | ask?reads ask? | ask?reads ask? | open runs
cat ~/.ssh/id_rsa                   | ask?reads no | ask?reads ask? | ask?reads ask? | open ask?
echo x > .git/hooks/pre-commit      | no     no   | ask?writes ask? | ask?writes ask? | open ask?
rm -rf ~                            | no     no   | ask?writes ask? | ask?writes ask? | ask?open ask?
shutdown now                        | no     no   | ask?writes ask? | ask?writes ask? | open ask?
rm -rf .                            | no     no   | ask?writes ask? | ask?writes ask? | ask?open ask?
`
const rows = table
  .trim()
  .split('\n')
  .slice(1)
  .map((row) => row.split('|').map((cell) => cell.trim()))

function word({ verdict, confinement }: Explanation): string {
  if (verdict === 'deny') return 'no'
  const asked = verdict === 'ask' ? 'ask?' : ''
  if (confinement === null || confinement === 'outside') return asked || 'runs'
  const { profile, hosts, home } = confinement
  if (home === 'readable' && hosts === 'any') return `${asked}open`
  const net = hosts === 'any' ? '+any' : hosts.map((host) => `+${host}`).join('')
  return `${asked}${profile === 'read-only' ? 'reads' : 'writes'}${net}`
}

/** The rules: `npm test` is allowed, and `make` is on the allowlist. */
function settingsOf(mode: SecurityMode) {
  return { mode, allow: ['shell:npm test'], ...(mode === 'allowlist' && { allowlist: ['shell:make'] }) }
}

describe.each([true, false])(
  'SB02 T04 a line in each mode, with a sandbox and without; the project is trusted: %s',
  (isTrusted) => {
    test.each(rows)('%s', async (line = '', ...expected) => {
      const found = await Promise.all(
        modes.map(async (mode) => {
          const options = {
            layers: { launch: settingsOf(mode) },
            location: { root: '/p', home: '/home/me', isTrusted },
          }
          const [inside, without] = await Promise.all(
            [bothProfiles, none].map((sandbox) => explainLine(line, { ...options, sandbox }, reader.read)),
          )
          return `${word(inside!)} ${word(without!)}`
        }),
      )
      expect(found).toEqual(expected.map((cell) => cell.replace(/ +/, ' ')))
    })
  },
)
