import { describe, expect, test } from 'vitest'
import { exitOneMeansNo, onlyReads } from './line-questions.ts'

describe('what may run beside other calls', () => {
  test.each([
    'ls',
    'ls -la src',
    'cat a.txt "b c.txt"',
    'git status',
    'git status --porcelain',
    'rg foo src',
    'rg -n "two words$" src/*.ts',
    'head -n 5 a.txt',
    'tail -20 log.txt',
    'wc -l a.txt',
    'pwd',
    'file a.png',
    'stat a.txt',
    'du -sh .',
    'df -h',
    'tree -L 2',
    'which node',
    'whoami',
    'uname -a',
    'date -Is',
    'echo "quoted (parentheses) are text"',
    "printf '%s' x",
    'grep -rn needle .',
    'fd needle',
    'find . -name "*.ts" -type f',
    'git diff HEAD~1',
    'git log --oneline -5',
    'git show HEAD',
    'git blame a.ts',
    'git rev-parse HEAD',
    'git ls-files',
    'git branch',
    'git branch -a',
    'git branch --show-current',
    '  ls  ',
    'ls a\\ b',
    'sed -n 1p a.txt',
    'sleep 1',
  ])('A128 safe: %s', async (command) => {
    expect(await onlyReads(command)).toBe(true)
  })

  test.each([
    'rm a.txt',
    'npm install',
    'cat a | wc -l',
    'echo hi > a.txt',
    'cat < a.txt',
    'ls && rm a.txt',
    'ls; rm a.txt',
    'ls & rm a.txt',
    'ls || true',
    'sed -i 1d a.txt',
    'npm test',
    'git commit -m x',
    'git stash',
    'git -c core.pager=x log',
    'node -e 1',
    './ls',
    '/bin/ls',
    '',
    '   ',
  ])('A129 unsafe: %s', async (command) => {
    expect(await onlyReads(command)).toBe(false)
  })

  test.each([
    ['an open single quote', "ls 'a"],
    ['an open double quote', 'ls "a'],
    ['a backslash at the end', 'ls \\'],
    ['a pipe in quotes, to be sure', "rg 'a|b'"],
    ['a substitution', 'echo $(id)'],
    ['a substitution in quotes', 'echo "now $(id)"'],
    ['backticks', 'echo `id`'],
    ['a process substitution', 'cat <(id)'],
    ['a newline', 'git log\nrm a.txt'],
    ['a continued line', 'l\\\ns'],
    ['a carriage return', 'ls\rrm'],
    ['a carriage return in an argument', 'cat a\rb'],
    ['a NUL', 'cat a\0b'],
    ['an escape', 'cat \x1b[2J'],
    ['parentheses', 'echo (id)'],
    ['a leading assignment', 'PAGER=x git log'],
    ['a dollar-quoted name', "$'ls'"],
    ['a dollar-quoted argument', "ls $'a'"],
    ['an expansion that may run things', `echo \${x@P}`],
    ['old arithmetic', 'echo $[a]'],
    ['a variable', 'cat $HOME/notes.txt'],
    ['a program in pieces', 'l"s" a'],
    ['a variable as the program', '$x a'],
    ['a pattern as the program', '/bin/l?'],
    ['braces as the program', '{rm,a}'],
    ['find -delete', 'find . -name x -delete'],
    ['find -exec', 'find . -exec rm x +'],
    ['find -execdir', 'find . -execdir rm x +'],
    ['find -ok', 'find . -ok rm x +'],
    ['find -okdir', 'find . -okdir rm x +'],
    ['find -fprint', 'find . -fprint a'],
    ['find -fprint0', 'find . -fprint0 a'],
    ['find -fprintf', 'find . -fprintf a %p'],
    ['find -fls', 'find . -fls a'],
    ['a flag in quotes', 'find . "-delete"'],
    ['a flag in pieces', 'find . -del"ete"'],
    ['a flag with a backslash', 'find . -de\\lete'],
    ['a flag made of braces', 'find . -{delete,print}'],
    ['a flag that a pattern may become', 'find . -delet?'],
    ['a flag that a file may be called', 'rg needle *'],
    ['a flag in a variable', 'find . $flags'],
    ['a flag in a quoted variable', 'rg "$flag" x'],
    ['git branch -D', 'git branch -D old'],
    ['git branch with a name', 'git branch new'],
    ['git branch that edits', 'git branch --edit-description'],
    ['git diff into a file', 'git diff --output=a'],
    ['git log into a file', 'git log --output a'],
    ['git with another program', 'git diff --ext-diff'],
    ['rg with another program', 'rg --pre ./x needle'],
    ['the same in quotes', "rg '--pre=./x' needle"],
    ['rg asking a program for the host', 'rg --hostname-bin=./x needle'],
    ['fd -x', 'fd needle -x rm'],
    ['fd --exec-batch', 'fd needle --exec-batch rm'],
    ['fd with flags together', 'fd -HX rm'],
    ['tree into a file', 'tree -o a'],
    ['setting the clock', 'date -s tomorrow'],
    ['compiling magic', 'file -C -m a'],
    ['a line too long to judge', `ls ${'a '.repeat(5000)}`],
  ])('A130 unsafe: %s', async (_, command) => {
    expect(await onlyReads(command)).toBe(false)
  })

  test('SH-58 a megabyte of anything is judged without reading it', async () => {
    for (const piece of ['a ', '$(', '"', "'", '\\', '{', '<<E\n'])
      expect(await onlyReads(`ls ${piece.repeat(1_000_000 / piece.length)}`)).toBe(false)
  })
})

describe('exit code 1 that is only a no', () => {
  test.each([
    'rg needle',
    'grep -q needle a.txt',
    'diff a b',
    'test -f a',
    '[ -f a ]',
    'cat a | grep needle',
    'grep "a|b" a.txt 2>/dev/null',
    'LC_ALL=C grep needle a.txt',
    '/usr/bin/grep needle a.txt',
    'make; grep needle log',
    'make\ngrep needle log\n',
    '[ -f a ] && echo yes',
    'test -f a || test -f b',
  ])('A133 no failure: %s', async (command) => {
    expect(await exitOneMeansNo(command)).toBe(true)
  })

  test.each([
    'cat a.txt',
    'echo grep',
    'grep needle a; make',
    'grep needle a | sort',
    'make && grep needle log',
    'grep a b &&\nmake',
    '(grep needle a)',
    'grep needle a &',
    'if grep needle a; then make; fi',
    "grep 'open",
    '',
  ])('a failure all the same: %s', async (command) => {
    expect(await exitOneMeansNo(command)).toBe(false)
  })
})
