import { expect, test } from 'vitest'
import { readShell } from './read-shell.ts'

/** Each command as a line, with the wrappers around it. */
const commandsOf = (text: string): string[] =>
  readShell(text).commands.map(({ words, via }) => [...via, words.join(' ')].join(' > '))

test.each([
  ['env curl x', 'env > curl x'],
  ['/usr/bin/env curl x', '/usr/bin/env > curl x'],
  ['nice curl x', 'nice > curl x'],
  ['nice -n 5 curl x', 'nice > curl x'],
  ['nice -10 curl x', 'nice > curl x'],
  ['nohup curl x', 'nohup > curl x'],
  ['timeout 5 curl x', 'timeout > curl x'],
  ['timeout -k 1s --preserve-status --signal=INT 5 curl x', 'timeout > curl x'],
  ['stdbuf -oL -e0 curl x', 'stdbuf > curl x'],
  ['stdbuf --output=L curl x', 'stdbuf > curl x'],
  ['command curl x', 'command > curl x'],
  ['command -p -- curl x', 'command > curl x'],
  ['setsid -w curl x', 'setsid > curl x'],
  ['ionice -c 3 curl x', 'ionice > curl x'],
  ['/usr/bin/time -p curl x', '/usr/bin/time > curl x'],
  ['env nice nohup timeout 5 curl x', 'env > nice > nohup > timeout > curl x'],
])('%s is nothing but what it wraps', (text, command) => {
  expect(readShell(text).obstacles).toEqual([])
  expect(commandsOf(text)).toEqual([command])
})

test('what a transparent wrapper wraps has its patterns, its environment and its redirections', () => {
  expect(readShell('LANG=C timeout 5 ls *.ts > out').commands).toMatchObject([
    { words: ['ls', '*.ts'], globs: [1], env: { LANG: 'C' }, redirects: [{ operator: '>', target: 'out' }] },
  ])
})

test.each([
  'env',
  'command -v node',
  'command -V node',
  'nice',
  'xargs',
  'sudo -k',
  'ssh host',
  'bash x.sh -c y',
  'sh',
  'npm test',
  'find . -name x',
])('%s wraps nothing', (text) => {
  expect(readShell(text).obstacles).toEqual([])
  expect(commandsOf(text)).toEqual([text])
})

test.each([
  ...[
    'sudo curl x',
    'sudo -u root -- curl x',
    'sudo A=1 curl x',
    'sudo -nE curl x',
    'doas -u root curl x',
    "su -c 'curl x'",
  ],
  ...[
    "su - root -c 'curl x'",
    "su --command='curl x'",
    'runuser -u me -- curl x',
    'env A=1 curl x',
    'env -i curl x',
    'env -u A curl x',
  ],
  ...[
    "env -S 'curl x'",
    "env '-Scurl x'",
    'env A=1 sudo curl x',
    'echo a | xargs curl x',
    'xargs -0 -n 1 curl x',
    'xargs --unknown curl x',
  ],
  ...[
    'strace -f curl x',
    'chroot /x curl x',
    'unshare -n curl x',
    "watch -n 1 'curl x'",
    'watch curl x',
    'parallel curl x',
    'flock f curl x',
  ],
  ...[
    "flock f -c 'curl x'",
    'find . -exec curl x \\;',
    'find . -execdir curl x {} + -print',
    'find . -exec true {} + -ok curl x \\;',
  ],
  ...[
    "sh -c 'curl x'",
    "bash -lc 'curl x'",
    "bash -o errexit -c 'curl x'",
    "bash -c -e 'curl x'",
    "/bin/zsh -c 'true; curl x'",
  ],
  ...[
    "sh -c '$0 x' curl x",
    "fish --command='curl x'",
    'eval curl x',
    "eval 'curl x'",
    'exec curl x',
    'exec -a name curl x',
  ],
  ...[
    'ssh host curl x',
    "ssh -o ProxyCommand='curl x' host",
    'busybox curl x',
    "script -qc 'curl x' /dev/null",
    'systemd-run --user curl x',
  ],
  ...[
    'setpriv --reuid 1 curl x',
    'npx curl x',
    'npx -y curl x',
    "npm exec -c 'curl x'",
    'npm exec -- curl x',
    'pnpm dlx curl x',
  ],
  ...[
    "trap 'curl x' EXIT",
    "alias a='curl x'",
    'builtin curl x',
    './timeout 5 curl x',
    'timeout --unknown 5 curl x',
    'timeout 5* curl x',
  ],
  ...[
    'setsid -f curl x',
    "bash <<'E'\ncurl x\nE",
    "sh <<< 'curl x'",
    "sudo find . -exec sh -c 'curl x' \\;",
    'SUDO curl x',
    'jobs -x curl x',
  ],
  ...[
    "tmux new-session -d 'curl x'",
    'nice --unknown=1 curl x',
    "sudo -Z sh -c 'curl x'",
    'env -- A=1 curl x',
    'env a* curl x',
    'fd -x curl x',
  ],
])('%s is an obstacle, and what it wraps is found', (text) => {
  const { isWhole, obstacles } = readShell(text)
  expect({ isWhole, isClear: obstacles.length === 0 }).toEqual({ isWhole: true, isClear: false })
  expect(readShell(text).commands.some(({ words }) => `${words.join(' ')} `.startsWith('curl x '))).toBe(true)
})

test.each([
  ...["echo 'curl x' | sh", 'echo curl x | sudo bash', "cat <<'E' | bash -s\ncurl x\nE", "sudo bash <<'E'\ncurl x\nE"],
  ...["bash -o pipefail <<'E'\ncurl x\nE", "ssh host <<'E'\ncurl x\nE", "printf 'curl x' | tr a b | env sh"],
])('%s runs what it is sent', (text) => {
  expect(readShell(text).obstacles).toContain('a shell that runs what it is sent')
  expect(readShell(text).commands.some(({ words }) => words.join(' ') === 'curl x')).toBe(true)
})

test.each(['ps aux | grep bash', 'echo x | bash x.sh', "cat <<'E'\ncurl x\nE", 'sh x.sh < f | head'])(
  '%s runs nothing it is sent',
  (text) => {
    expect(readShell(text).obstacles).toEqual([])
  },
)

test.each([
  '$none curl x',
  '$(true) curl x',
  'env $none curl x',
  'timeout $time curl x',
  '{curl,y} x',
  '`true` curl x',
  "$'curl' x",
])('%s: the shell knows what runs, and what may run is found', (text) => {
  expect(readShell(text).obstacles).not.toEqual([])
  expect(readShell(text).commands.some(({ words }) => words.join(' ') === 'curl x')).toBe(true)
})

test('a wrapper that changes something is a command itself', () => {
  expect(commandsOf('sudo -u root curl x > f')).toEqual(['sudo -u root curl x', 'sudo > curl x'])
  expect(readShell('sudo curl x > f').commands[0]).toMatchObject({ redirects: [{ target: 'f' }] })
})

test('eight wrappers are taken off; with more the line is read, asks, and hides nothing', () => {
  const wrapped = (depth: number): string => `${'env '.repeat(depth)}curl x`
  expect(readShell(wrapped(8)).obstacles).toEqual([])
  expect(readShell(wrapped(12))).toMatchObject({
    isWhole: true,
    obstacles: ['more than 8 programs that run another'],
  })
  expect(readShell(wrapped(12)).commands.some(({ words }) => words.join(' ') === 'curl x')).toBe(true)
})

test('lines inside lines are read to the same depth, and then by their words', () => {
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
  let line = 'curl x'
  for (let depth = 0; depth < 4; depth++) line = `sh -c ${quoted(line)}`
  expect(commandsOf(line).at(-1)).toBe('sh > sh > sh > sh > curl x')
  const deep = `${'eval '.repeat(12)}curl x`
  expect(readShell(deep)).toMatchObject({ isWhole: false })
  expect(readShell(deep).words).toContain('curl')
})
