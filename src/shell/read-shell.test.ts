import { describe, expect, test } from 'vitest'
import { readShell } from './read-shell.ts'

/** Each command as a line. */
const commandsOf = (text: string): string[] => readShell(text).commands.map(({ words }) => words.join(' '))
/** Each command with where it runs. */
const placesOf = (text: string): string[] =>
  readShell(text).commands.map(({ words, cwd }) => `${words.join(' ')} @ ${cwd ?? 'unknown'}`)

describe('plain lines', () => {
  test.each([
    'ls',
    'git log --oneline | head -5 && ls -la src; echo "exit $?"',
    'grep -rn "a\\|b" src || true',
    "find . \\( -name '*.ts' -o -name x \\) -print",
    'time ! ls',
    "cat <<'E' > notes.txt\nthis is $HOME and `that`\nE",
    'cat <<E\nit costs 5$\nE',
    "grep x <<< 'some text'",
    'ls *.ts > out.txt 2>&1 < /dev/null',
    'LC_ALL=C TZ=Europe/Berlin sort f',
    'LANG=de_DE.UTF-8 TZ=UTC CI=1 NO_COLOR= ls > /dev/stdout 2> /dev/stderr',
    'git commit -m "it\'s (done); yes | no & more" # and $(a comment)',
    'git show HEAD~1 HEAD@{1}',
    'echo grün "✔️"',
    '',
    '# nothing',
  ])('has no obstacle: %s', (text) => {
    expect(readShell(text)).toMatchObject({ isWhole: true, obstacles: [], words: [] })
  })

  test('a command is its unquoted words, its environment, its patterns and where its output goes', () => {
    expect(readShell(`LANG=C "gr"ep -n 'a b' src/*.ts 2>>err.log`).commands).toEqual([
      {
        words: ['grep', '-n', 'a b', 'src/*.ts'],
        globs: [3],
        env: { LANG: 'C' },
        redirects: [{ operator: '>>', descriptor: 2, target: 'err.log' }],
        cwd: '.',
        via: [],
        isNested: false,
      },
    ])
  })

  test('braces that hold no list are just letters', () => {
    for (const word of ['@{u}..', 'HEAD@{1}..', '{a}b,c', '{a,b', '}{..'])
      expect(readShell(`git log ${word}`), word).toMatchObject({
        obstacles: [],
        commands: [{ words: ['git', 'log', word] }],
      })
    for (const word of ['{a},b}', '@{u}..{a,b}', '{a,b}}'])
      expect(readShell(`echo ${word}`).obstacles, word).not.toEqual([])
  })

  test('each line of several is a command', () => {
    expect(commandsOf('git log\ntouch x')).toEqual(['git log', 'touch x'])
  })

  test('every way to write a file is recorded, and none is an obstacle by itself', () => {
    const { commands, obstacles } = readShell('a > f; b >> f; c >| f; d &> f; e &>> f; g 2> f; h >& f; i <> f; > f')
    expect(obstacles).toEqual([])
    expect(commands.map(({ redirects }) => redirects[0]?.operator)).toEqual([
      ...['>', '>>', '>|', '&>', '&>>', '>', '>&', '<>', '>'],
    ])
    expect(commands.every(({ redirects }) => redirects[0]?.target === 'f')).toBe(true)
  })

  test('an assignment to __proto__ is an assignment', () => {
    expect(Object.entries(readShell('__proto__=x ls').commands[0]!.env)).toEqual([['__proto__', 'x']])
  })
})

describe('what may be more than it says', () => {
  test.each([
    ['command substitution', 'echo $(touch x)', 'a command substitution, $(…)'],
    ['backticks', 'echo `touch x`', 'a command substitution, $(…)'],
    ['substitution in quotes', 'echo "hi $(touch x)"', 'a command substitution, $(…)'],
    ['process substitution, input', 'cat <(touch x)', 'a process substitution, <(…)'],
    ['process substitution, output', 'echo x | cat > >(touch x)', 'a process substitution, <(…)'],
    ['prompt expansion', `echo "\${x@P}$(touch x)"`, 'a parameter expansion, $…'],
    ['assignment in an expansion', `echo \${a="$(touch x)"}\${b@P}`, 'a parameter expansion, $…'],
    ['a subscript in arithmetic', 'echo $((a[$(touch x)]))', 'arithmetic, $((…))'],
    ['a here-document', 'cat <<E\n$(touch x)\nE', 'an expansion in a here-document'],
    ['a here-string', 'cat <<< "$(touch x)"', 'a command substitution, $(…)'],
    ['a start-up file', 'BASH_ENV=<(touch x) ls', 'an assignment, BASH_ENV=…'],
    ['a coprocess', 'coproc touch x', 'a coprocess, coproc'],
    ['the background', 'true & touch x', 'a command in the background, &'],
    ['a trap', "trap 'touch x' EXIT", 'a built-in that changes what follows, trap'],
    ['a function', 'ls(){ touch x; }; ls', 'a function'],
    ['an alias', "alias ls='touch x'", 'a built-in that changes what follows, alias'],
    ['a subshell', '(touch x)', 'a subshell, (…)'],
    ['a group', '{ touch x; }', 'a group, {…}'],
    ['a condition', 'if true; then touch x; fi', 'a condition, if'],
    ['a loop', 'while touch x; do :; done', 'a loop, while'],
    ['a for loop', 'for f in a; do touch x; done', 'a loop, for'],
    ['a C loop', 'for ((i=$(touch x);;)); do :; done', 'a loop, for'],
    ['a menu', 'select f in $(touch x); do :; done', 'a loop, select'],
    ['a case', 'case $(touch x) in *) :;; esac', 'a condition, case'],
    ['a case item', 'case a in *) touch x;; esac', 'a condition, case'],
    ['a test', '[[ -f $(touch x) ]]', 'a test, [[…]]'],
    ['arithmetic', '((a=$(touch x)))', 'an arithmetic command, ((…))'],
    ['old arithmetic', 'echo $[ $(touch x) ]', 'arithmetic, $((…))'],
    ['an array', 'a=(b $(touch x))', 'an array'],
    ['a subscript', 'a[$(touch x)]=b', 'an assignment, a=…'],
    ['a default', `echo \${a:-$(touch x)}`, 'a parameter expansion, $…'],
    ['a slice', `echo \${a:$(touch x):1}`, 'a parameter expansion, $…'],
    ['a replacement', `echo \${a/b/$(touch x)}`, 'a parameter expansion, $…'],
    ['braces', 'echo {a,$(touch x)}', 'a brace expansion, {…}'],
    ['an extended pattern', 'echo @(a|$(touch x))', 'an extended pattern, @(…)'],
    ['a pattern', 'echo [a$(touch x)]', 'a command substitution, $(…)'],
    ['a translated string', 'echo $"$(touch x)"', 'a translated string, $"…"'],
    ['backticks in backticks', 'echo `echo \\`touch x\\``', 'a command substitution, $(…)'],
    ['a redirection', 'echo > $(touch x)', 'a redirection that only the shell knows, >'],
    ['a redirected group', '{ ls; } > $(touch x)', 'a redirection of several commands'],
    ['a declaration', 'declare a=$(touch x)', 'a built-in that changes what follows, declare'],
  ])('%s is an obstacle, and the command in it is found', (_, text, obstacle) => {
    const { obstacles, isWhole } = readShell(text)
    expect(obstacles).toContain(obstacle)
    expect(isWhole).toBe(true)
    expect(commandsOf(text)).toContain('touch x')
  })

  test.each([
    ['a name in escapes', "$'\\x74ouch' x", "a string with escapes, $'…'"],
    ['a command in braces', '{touch,x}', 'a brace expansion, {…}'],
    ['a flag in braces', 'find . -{delete,print}', 'a brace expansion, {…}'],
    ['a backslash in a flag', 'find . -ex\\ec touch x \\;', 'a backslash in front of a letter'],
    ['a name in a variable', 'x=touch; $x f', 'a program whose name only the shell knows'],
    ['an assignment', "GIT_SSH_COMMAND='touch x' git fetch", 'an assignment, GIT_SSH_COMMAND=…'],
    ['an assignment', 'NODE_OPTIONS=--require=./p.js npm test', 'an assignment, NODE_OPTIONS=…'],
    ['an export', 'export PATH=.\nls', 'a built-in that changes what follows, export'],
    ['a redirection', 'exec 7> f', 'a built-in that changes what follows, exec'],
    ['a redirection', 'echo x > ~/.bashrc', 'a home directory, ~'],
    ['a redirection', 'ls {fd}> f', 'a redirection that only the shell knows, {…}>'],
    ['a connection', 'echo <>/dev/tcp/127.0.0.1/9', 'a connection, <> /dev/tcp/127.0.0.1/9'],
    ['an open file', 'echo x < f > /dev/stdin', 'a redirection that only the shell knows, >'],
    ['an open file', 'echo x < f > /dev/./fd/0', 'a redirection that only the shell knows, >'],
    ['an open file', 'echo x > /proc/self/fd/0 < f', 'a redirection that only the shell knows, >'],
    ['an open file', 'echo x 1< f > /dev/stdout', 'a redirection that only the shell knows, <'],
    ['a language with other characters', 'LC_ALL=zh_TW.BIG5 ls', 'an assignment, LC_ALL=…'],
    ['a language that implies them', 'LANG=zh_TW ls', 'an assignment, LANG=…'],
    ['a pattern as program', '/usr/bin/tou?h x', 'a program named by a pattern'],
    ['a language that is a file', 'LC_ALL=../../x ls', 'an assignment, LC_ALL=…'],
    ['a time zone that is a file', 'TZ=:/x ls', 'an assignment, TZ=…'],
  ])('%s is an obstacle: %s', (_, text, obstacle) => {
    expect(readShell(text).obstacles).toContain(obstacle)
  })

  test('what stands in a substitution or a loop is marked as nested', () => {
    const nested = readShell('a; b $(c); for x in y; do d; done').commands.map(({ isNested }) => isNested)
    expect(nested).toEqual([false, false, true, true])
  })
})

describe('where a command runs', () => {
  test('SH-52 cd moves what comes after it, for sure behind && and perhaps behind ;', () => {
    expect(placesOf('cd src && ls')).toEqual(['cd src @ .', 'ls @ src'])
    expect(placesOf('cd /tmp && echo x > authorized_keys')[1]).toBe('echo x @ /tmp')
    expect(placesOf('cd src; rm x')).toEqual(['cd src @ .', 'rm x @ src', 'rm x @ .'])
    expect(placesOf('cd src\nrm x')).toEqual(['cd src @ .', 'rm x @ src', 'rm x @ .'])
    expect(placesOf('cd a && cd ../.. && ls')[2]).toBe('ls @ ..')
    expect(placesOf('cd ./a//b/ && cd -- "c d" && ls')[2]).toBe('ls @ a/b/c d')
    expect(placesOf('cd /a/../../b && ls')[1]).toBe('ls @ /b')
    expect(placesOf("cd '~' && ls")[1]).toBe('ls @ ./~')
  })

  test.each([
    ...[
      'cd && ls',
      'cd - && ls',
      'cd ~ && ls',
      'cd "$?" && ls',
      'cd -P x && ls',
      'cd a b && ls',
      'cd src/* && ls',
      "cd '' && ls",
    ],
    ...['pushd x && ls', 'popd && ls', 'cd x | ls; ls', 'cd x || ls', '! cd x && ls', 'time cd x && ls', 'cd $x && ls'],
    ...[
      'command cd x && ls',
      'eval cd x && ls',
      '. ./x && ls',
      'CDPATH=/ cd x && ls',
      'if a; then cd x; fi; ls',
      '$x y; ls',
    ],
    ...['for i in a; do ls; c"d" x; done', 'f() { ls; }; cd x; f'],
  ])('SH-52 the directory of ls is unknown: %s', (text) => {
    const places = placesOf(text).filter((one) => one.startsWith('ls @'))
    expect(places).toContain('ls @ unknown')
  })

  test('a subshell changes only its own directory', () => {
    expect(placesOf('(cd a && ls); pwd')).toEqual(['cd a @ .', 'ls @ a', 'pwd @ .'])
    expect(placesOf('echo $(cd a && ls); pwd').at(-1)).toBe('pwd @ .')
  })

  test('too many places are none', () => {
    expect(placesOf('cd a; cd b; cd c; ls').at(-1)).toBe('ls @ unknown')
  })
})

describe('what is not read', () => {
  test.each([
    ['a continued line', 'tou\\\nch x', 'touch'],
    ['a carriage return', 'ls\rtouch x', 'touch'],
    ['a blank that is not ASCII', 'ls\u00a0touch', 'touch'],
    ['a line separator', 'ls\u2028touch', 'touch'],
    ['a bidi character', 'ls \u202etouch', 'touch'],
    ['a tag', 'ls tou\u{e0041}ch', 'touch'],
    ['no width', 'tou\u200bch x', 'touch'],
    ['a zero byte', 'ls\0; touch x', 'touch'],
    ['an escape character', 'ls \x1b[0m; touch x', 'touch'],
    ['half a character', 'ls \ud800; touch x', 'touch'],
    ['a long line', `${'true && '.repeat(1100)}"tou"ch x`, 'touch'],
    ['a quote that does not end', 'echo "x; touch y', 'touch'],
    ['half a substitution', 'echo $(touch y', 'touch'],
    ['half a condition', 'if touch y', 'touch'],
    ['half a list', 'touch y &&', 'touch'],
    ['a here-document that does not end', 'cat <<E\n$(touch x)', 'touch'],
    ['an error inside a substitution', 'echo $(touch y; fi)', 'touch'],
    ['an error inside sh -c', `sh -c 'touch y; if'`, 'touch'],
    ['a path', '/usr/bin/touch x &&', 'touch'],
    ['a backslash', '\\tou\\ch x &&', 'touch'],
    ['quotes', `t'ou'"ch" x &&`, 'touch'],
    ['braces', '{touch,x} &&', 'touch'],
    ['escapes', "$'\\x74ou\\143h' x &&", 'touch'],
    ['a line in quotes', `sudo sh -c 'x;touch y' &&`, 'touch'],
  ])('%s: not whole, but its words are found', (_, text, word) => {
    const { isWhole, obstacles, words } = readShell(text)
    expect({ isWhole, hasObstacle: obstacles.length > 0 }).toEqual({ isWhole: false, hasObstacle: true })
    expect(words).toContain(word)
  })

  test('the last of very many commands is found, whether they are read or not', () => {
    expect(commandsOf(`${'true && '.repeat(60)}curl x`).at(-1)).toBe('curl x')
    expect(readShell(`${'true && '.repeat(100_000)}curl x`).words).toContain('curl')
    expect(readShell(`parallel ${'a '.repeat(3000)} curl`)).toMatchObject({ isWhole: false })
    expect(readShell(`parallel ${'a '.repeat(3000)} curl`).words).toContain('curl')
  })
})
