import { describe, expect, test } from 'vitest'
import { protectedInGit, protectedNames, watchedNames } from '../../execution/bubblewrap/protected-paths.ts'
import { createProtection, protection } from './protected-paths.ts'

const writeProtected = [
  '.git/config .git/hooks/pre-commit .git/info/attributes .git/modules/sub/config .git/remotes/origin .git/branches/origin .git .gitattributes .gitmodules .gitconfig',
  '.libero/authority.json .libero/tools/evil.ts .libero/skills/x/SKILL.md .mcp.json mcp.json',
  '.vscode/tasks.json .idea/workspace.xml .cursor/rules .zed/settings.json .exrc',
  '.github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile azure-pipelines.yml',
  '.bashrc .bash_profile .profile .zshrc .zshenv .config/fish/config.fish .envrc',
  '.yarnrc pip.conf .cargo/config .cargo/config.toml .ripgreprc',
].flatMap((group) => group.split(' '))

const secret =
  '.npmrc .yarnrc.yml .pypirc .ssh/id_ed25519 .ssh/authorized_keys authorized_keys .gnupg/secring.gpg .aws/credentials .azure/token .config/gcloud/x .kube/config .docker/config.json .netrc .git-credentials Library/Keychains/login.keychain'.split(
    ' ',
  )

const ordinary =
  'src/index.ts .gitignore .git/index .git/objects/ab/cd README.md .github/ISSUE_TEMPLATE.md .config/app/x .docker/Dockerfile .env src/config docs/git/hooks share/x .cargo/registry/x git/config ssh/key'.split(
    ' ',
  )

test.each(writeProtected)('FS-10 writing %s is not silent, reading it is', (path) => {
  expect(protection(path)?.write).toEqual(expect.any(String))
  expect(protection(path)?.read).toBeUndefined()
})

test.each(secret)('FS-10 %s is neither read nor written silently', (path) => {
  expect(protection(path)?.write).toEqual(expect.any(String))
  expect(protection(path)?.read).toEqual(expect.any(String))
})

test('paths that a sandbox protects are protected without one too', () => {
  const names = [...protectedNames, ...watchedNames, ...protectedInGit.map((name) => `.git/${name}`)]
  expect(names.filter((name) => protection(name) === undefined)).toEqual([])
})

test.each(ordinary)('%s is an ordinary file', (path) => {
  expect(protection(path)).toBeUndefined()
})

test.each([...writeProtected, ...secret])('FS-11 %s is protected at any depth, even if it does not exist', (path) => {
  expect(protection(`packages/no-such-folder/${path}`)).toEqual(protection(path))
  expect(protection(`/home/other/${path}`)).toEqual(protection(path))
})

test.each([...writeProtected, ...secret])('FS-08 %s is protected whatever the case', (path) => {
  expect(protection(path.toUpperCase())).toEqual(protection(path))
  expect(protection(path.replace(/[a-z]/g, (letter, at: number) => (at % 2 ? letter.toUpperCase() : letter)))).toEqual(
    protection(path),
  )
})

describe('FS-13 all spellings are one path', () => {
  test.each([
    './a/../.git/config',
    'a/./b/../../.git/config',
    '//desk//.git//config',
    '.git/config/',
    '.git/config.',
    '.git./config. .',
    '.git/config::$DATA',
    '.git::$INDEX_ALLOCATION/config',
    '.git\\config',
    'C:\\work\\.git\\config',
    '\\\\?\\C:\\work\\.git\\config',
    '\\??\\C:\\work\\.git\\config',
    'file:///desk/.git/config',
    'file:///desk/%2Egit/config',
    'FILE://localhost/desk/.git/config',
    '~/.git/config',
    'GIT~1/config',
    '.g\u200cit/config',
    '.git/hook\u017f',
    '.gi*/config',
    '.git/h*/x',
  ])('%s', (path) => {
    expect(protection(path)?.write).toMatch(/git runs/)
  })
})

test('a glob for files in general is not protected', () => {
  expect(protection('src/*.ts')).toBeUndefined()
  expect(protection('*')).toBeUndefined()
  expect(protection('.s?h/id_*')?.read).toEqual(expect.any(String))
  expect(protection('app/[id]/page.tsx')).toBeUndefined()
})

test('the folder of this program is protected wherever it is', () => {
  const protect = createProtection({
    root: '/desk/project',
    home: '/home/me',
    own: ['~/settings', '/desk/project/keep'],
  })
  for (const path of [
    '/home/me/settings/grants.json',
    '~/settings',
    '/Home/Me/Settings/x',
    'keep/x',
    '/desk/project/keep',
  ])
    expect(protect(path)).toMatchObject({ write: expect.any(String), read: expect.any(String) })
  expect(protect('/home/me/settings-of-mine')).toBeUndefined()
  expect(protect('keeper')).toBeUndefined()
})

test('a workspace in the folder of an editor can be worked in, one among credentials cannot', () => {
  expect(createProtection({ root: '/home/me/.cursor/trees/one' })('src/a.ts')).toBeUndefined()
  expect(createProtection({ root: '/home/me/.ssh' })('id_rsa')?.read).toEqual(expect.any(String))
})

test('the environment of processes and the passwords of the system are not read silently', () => {
  const protect = createProtection({ root: '/w/project', home: '/home/me' })
  for (const path of ['/proc/self/environ', '/proc/1/task/1/environ', '/proc/self/fd/3', '/etc/shadow', '/etc/sudoers'])
    expect(protect(path)?.read, path).toEqual(expect.any(String))
  for (const path of ['/proc/cpuinfo', '/etc/hosts', '/proc/meminfo']) expect(protect(path), path).toBeUndefined()
})

test('all of a home folder is not read silently, unless it is the workspace', () => {
  const protect = createProtection({ root: '/w/project', home: '/home/me' })
  for (const path of ['/home/me', '/home', '/', '~'])
    expect(protect(path, true)?.read, path).toEqual(expect.any(String))
  for (const path of ['/home/me/notes', '/home/other', '.', 'src']) expect(protect(path, true), path).toBeUndefined()
  expect(protect('/home/me')).toBeUndefined()
  expect(createProtection({ root: '/home/me', home: '/home/me' })('.', true)).toBeUndefined()
})
