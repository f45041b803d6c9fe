import { expect, test } from 'vitest'
import { shellApprovalKey } from './shell-approval-key.ts'

test.each([
  ['ls -la src', 'ls'],
  ['rm -rf build', 'rm'],
  ['  git   status --short', 'git status'],
  ['npm test', 'npm test'],
  ['git commit -am "a message"', 'git commit'],
  ['docker ps -a', 'docker ps'],
  ['cargo build --release', 'cargo build'],
  ['pip install requests', 'pip install'],
])('%s is remembered as %s', (command, key) => {
  expect(shellApprovalKey(command)).toBe(key)
})

test.each([
  'sh -c ls',
  'bash x.sh',
  'node -e 1',
  'python3 x.py',
  'env ls',
  'xargs rm',
  'sudo ls',
  'ls | wc -l',
  'ls && rm a',
  'ls; rm a',
  'echo $(id)',
  'echo $HOME',
  'echo hi > a',
  'FOO=1 npm test',
  'git -c core.pager=x log',
  'git ls-remote --upload-pack=x .',
  'npm exec -c x',
  'npm run build',
  'docker run x',
  './x.sh',
  'find . -delete',
  'rg --pre x y',
  "ls 'open",
  'find . -name "*.ts"',
  'python3.12 -c x',
  'nodejs -e x',
  'busybox sh -c x',
  "rsync -e 'sh -c id' a b",
  'go test -exec id',
  'go build -toolexec=id',
  'docker compose run x sh',
  'npm explore x -- id',
  'yarn node -e x',
  "git rebase -x'touch p'",
  'git grep -Oid x',
  'git clone -u id x',
  'git log --outp=f',
  'git fetch --upload-pac=id',
  'npm test -- --watch',
  'npm install --prefix=/',
  "printf -v 'a[$(touch p)]' x",
  "test -v 'a[`id`]'",
  "ls 'a$(id)'",
])('%s is remembered word by word', (command) => {
  expect(shellApprovalKey(` ${command} `)).toBe(command)
})

test('the folder is part of it', () => {
  expect(shellApprovalKey('npm test', 'web')).toBe('"web" npm test')
  expect(shellApprovalKey('npm test', 'api')).not.toBe(shellApprovalKey('npm test', 'web'))
})

test('what is too long or cannot be shown is known by its digest, and different commands differ', () => {
  const long = `sh -c ${'x'.repeat(5000)}`
  const commands = [long, `${long}x`, 'sh\nls', 'sh\\nls', 'sh \x1b[2J', '']
  const keys = commands.map((command) => shellApprovalKey(command))
  expect(new Set(keys).size).toBe(commands.length)
  for (const key of keys) {
    expect(key).toMatch(/^[\x20-\x7e]+$/)
    expect(key.length).toBeLessThanOrEqual(1024)
  }
})
