import { describe, expect, test } from 'vitest'
import { readShell } from '../shell/read-shell.ts'
import { shellFacts } from '../shell/shell-facts.ts'
import { grantKindOf } from './grant-kind.ts'
import { shellCall } from './judged-call.ts'
import { shellKey } from './shell-key.ts'

const location = { root: '/w/project', home: '/home/me', isTrusted: true }

function kind(line: string, where: Partial<typeof location & { cwd: string }> = {}): ReturnType<typeof grantKindOf> {
  return grantKindOf(shellCall(line, shellFacts(readShell(line), { ...location, ...where })))
}

describe('the kind of a line', () => {
  test.each([
    ['touch f0.txt', 'touch (any)', 'every `touch` in this project'],
    ['touch f1.txt', 'touch (any)', 'every `touch` in this project'],
    ['/usr/bin/touch -c a b', 'touch (any)', 'every `touch` in this project'],
    ['touch a && touch b', 'touch (any)', 'every `touch` in this project'],
    ['cd src && touch a', 'touch (any)', 'every `touch` in this project'],
    ['cd src > /dev/null && touch a', 'touch (any)', 'every `touch` in this project'],
    ['mkdir -p a/b', 'mkdir (any)', 'every `mkdir` in this project'],
    ['cp -r src copy', 'cp (any)', 'every `cp` in this project'],
    ['git commit -am "a message"', 'git commit (any)', 'every `git commit` in this project'],
    ['git add -- a b', 'git add (any)', 'every `git add` in this project'],
    ['cat app.js', 'cat (any)', 'every `cat` in this project that only reads'],
    ['git log --oneline -5', 'git log (any)', 'every `git log` in this project that only reads'],
  ])('T03 %s is %s: %s', (line, key, words) => {
    expect(kind(line)).toEqual({ key, words })
  })

  test.each([
    ['a shell', 'bash build.sh'],
    ['an interpreter', 'node x.js'],
    ['an interpreter, asked for its version', 'node --version'],
    ['a program without a table, asked for its version', 'docker --version'],
    ['a package runner', 'npx tsc'],
    ['a package manager', 'npm install x'],
    ['scripts of the project', 'npm test'],
    ['a test runner', 'pytest -q'],
    ['make', 'make'],
    ['an unknown program', 'frobnicate a'],
    ['a program of the project', './touch a'],
    ['rm', 'rm a'],
    ['what can run other programs', 'find . -delete'],
    ['a file outside', 'touch /etc/x'],
    ['a file above', 'touch ../x'],
    ['a file of the home folder', 'touch ~/x'],
    ['a file read from outside', 'cp ../secret here'],
    ['a link to outside', 'ln -s /etc/passwd here'],
    ['reading outside', 'cat /etc/passwd'],
    ['a flag that names a file', 'touch -r ../x f'],
    ['another target folder', 'cp --target-directory=/tmp a'],
    ['an abbreviated flag', 'cp --target-dir=/tmp a'],
    ['an attached flag', 'mv -t/tmp a'],
    ['names only the shell knows', 'touch *'],
    ['a variable', 'touch $x'],
    ['a redirection', 'cat a > b'],
    ['a redirection of what is not asked about', 'touch a; true > src/app.js'],
    ['a redirection of nothing', '> src/app.js; git commit -m x'],
    ['an assignment', 'A=1 touch a'],
    ['a wrapper', 'timeout 5 touch a'],
    ['two kinds', 'touch a && mkdir b'],
    ['a kind and a line that is none', 'touch a && make'],
    ['git with an option in front', 'git -c core.editor=x commit'],
    ['git elsewhere', 'git -C ../other commit -m x'],
    ['git with a file', 'git commit -F ../message'],
    ['git that runs something', 'git rebase -x id'],
    ['git with another merge program', 'git merge -s evil x'],
    ['git over the network', 'git push'],
    ['a table that refuses', 'sort -o out a'],
    ['a background command', 'touch a &'],
    ['nothing that is asked about', 'cd src'],
    ['nothing', ''],
    ['what cannot be read', "touch 'a"],
  ])('S09 %s has none: %s', (_, line) => {
    expect(kind(line)).toBeUndefined()
  })

  test('S09 outside of the workspace, and for git where the project is not trusted, there is none', () => {
    expect(kind('touch a', { cwd: '/w/other' })).toBeUndefined()
    expect(kind('touch a', { cwd: '/w/project/src' })?.key).toBe('touch (any)')
    expect(kind('git commit -m x', { isTrusted: false })).toBeUndefined()
  })

  test('S09 a link that leads outside takes it away', () => {
    const call = shellCall('touch a', shellFacts(readShell('touch a'), location))
    const linked = { effect: 'fs.write', target: '/etc/x', isOutside: true, isLinked: true } as const
    expect(grantKindOf({ ...call, effects: [...call.effects, linked] })).toBeUndefined()
  })

  test('S09 no line has the key of a kind', () => {
    for (const line of ['touch', "touch '(any)'", 'touch "(any)"', 'touch \\(any\\)', 'touch (any)', 'touch *any*'])
      expect(shellKey(readShell(line), location, line)).not.toBe('touch (any)')
  })
})
