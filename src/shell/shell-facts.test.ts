import { describe, expect, test } from 'vitest'
import { readShell } from './read-shell.ts'
import type { ReadCommand } from './reading.ts'
import type { CommandFacts } from './shell-facts.ts'
import { commandFacts } from './shell-facts.ts'
import type { ShellLocation } from './shell-location.ts'

const location: ShellLocation = { root: '/w/project', home: '/home/me', isTrusted: true }

/** The last command of a line; of what find would run, find itself. */
function facts(line: string, where: Partial<ShellLocation> = {}): CommandFacts {
  const last = readShell(line).commands.findLast(({ via }) => !via.includes('find'))
  return commandFacts(last!, { ...location, ...where })
}

function made(words: readonly string[], more: Partial<ReadCommand> = {}): ReadCommand {
  return { words, globs: [], env: {}, redirects: [], cwd: '.', via: [], isNested: false, ...more }
}

const effectsOf = (line: string, where?: Partial<ShellLocation>): string[] =>
  facts(line, where).effects.map(
    ({ effect, target = '?', isOutside }) => `${effect} ${target}${isOutside ? ' (outside)' : ''}`,
  )

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

describe('read-only lines pass', () => {
  const looking = lines(String.raw`
    ls
    ls -la src
    ls --color=auto -1 *.ts
    /usr/bin/ls -l
    cat package.json
    cat -n *
    head -5 f.txt
    head -n -5 f.txt
    tail -f log.txt
    tail -n +3 f.txt
    wc -l src/*.ts
    grep -rn "TODO" src
    grep -e -foo f.txt
    grep --include=*.ts -r x .
    egrep 'a|b' f.txt
    rg -n --hidden -g '!node_modules' TODO src
    rg --files -t ts
    find . -name '*.ts' -not -path './node_modules/*' -type f
    find src test -maxdepth 2 ( -name a -o -name b ) -mtime -7 -print0
    find . -newermt 2024-01-01
    find -L . -newer f.txt -perm -u+x -printf '%p\n'
    sed -n '1,20p' f.txt
    sed 's/a/b/g;s|x|y|2p' f.txt
    sed -E -e 's/[[:space:]]+$//' -e '/^#/d' f.txt
    sed -n '/start/,/end/{/x/!p;}' f.txt
    sed ':a;N;$!ba;s/\n/ /g' f.txt
    sed '$!N;P;D' f.txt
    sed '\,x,d;y/abc/xyz/;$=' f.txt
    sed 10q f.txt
    sort -u -k2,2n -t, f.txt
    sort -rn f.txt
    uniq -c f.txt
    uniq -f 1
    echo -e "a\tb" -n --anything *
    printf '%s %5.2f %%n %b\n' a 1 b
    printf -- '-x'
    test -f x
    test ! -d x
    [ -n "a" ]
    [ a = b ]
    [ 1 -lt 2 ]
    [ ! a = b ]
    [ a -nt b ]
    cut -d: -f1 f.txt
    tr -d '\r'
    diff -u a.txt b.txt
    diff -rq a b
    cmp -s a b
    comm -12 a b
    stat -c %s f.txt
    file -b f.txt
    du -sh src
    df -h
    which node
    basename src/a.ts .ts
    dirname src/a.ts
    realpath .
    readlink -f a
    date
    date -u +%Y-%m-%d
    date -d yesterday +%s
    date -Iseconds
    whoami
    id -un
    uname -a
    hostname
    nl -ba f.txt
    column -t -s, f.txt
    paste -d, a b
    join -t, -1 2 -2 1 a b
    fold -w 80 f.txt
    strings -n 8 f.bin
    od -An -tx1 f.bin
    xxd -l 64 f.bin
    hexdump -C f.bin
    sha256sum f.txt
    tree -L 2 -a -I node_modules
    tree -L2
    jq . package.json
    jq -r '.scripts | keys[]' package.json
    jq --arg name x --argjson n 1 '.[$name]' f.json
    jq .env f.json
    seq 1 10
    sleep 0.5
    ps aux
    ps -ef
    free -h
    uptime
    node --version
    python3 -V
    npm -v
    go version
    cargo --version
    git --version
    git status -sb
    git --no-pager log --oneline -5 --graph
    git log -p -n 3 --since='2 weeks ago' -- src
    git log --format='%h %s (%an)' main..dev
    git diff --cached --stat
    git diff -U10 HEAD~1 -- src/a.ts
    git show HEAD:src/a.ts
    git grep -n 'foo' -- '*.ts'
    git branch
    git branch -a -vv
    git branch --list 'feature/*'
    git branch --merged main
    git branch --show-current
    git rev-parse --abbrev-ref HEAD
    git ls-files -o --exclude-standard
    git blame -L 1,20 src/a.ts
    git describe --tags --always
    git tag
    git tag -l 'v1.*'
    git remote -v
    git remote get-url origin
    git shortlog -sn
    git stash list
    timeout 5 ls
    command ls
  `)
  test.each(looking)('%s', (line) => {
    const { table, why, isReadOnly, mayRemember } = facts(line)
    expect({ table, why, isReadOnly, mayRemember }).toEqual({ table: 'passes', isReadOnly: true, mayRemember: true })
  })

  test.each(lines('true\nfalse\n:\npwd\npwd -P\ncd src\ncd -P ..\ncd'))('%s needs no permission', (line) => {
    expect(facts(line)).toMatchObject({ table: 'neutral', isReadOnly: true })
  })
})

/** Row, then the line; what has no row stands under `-`. */
const refused = lines(String.raw`
  SH-11 find . -name *
  SH-11 find . -name a*
  SH-11 find . -name x -pr?nt
  SH-11 find . *
  SH-11 sort *
  SH-11 sed p *
  SH-11 rg x *
  SH-11 uniq *
  SH-11 git diff *
  SH-11 printf *
  SH-11 test *
  SH-11 test a = b*
  SH-24 git -c core.pager=x log
  SH-24 git -C .. status
  SH-24 git -p log
  SH-24 git --git-dir=x status
  SH-24 git --exec-path=. status
  SH-24 git --no-pager -c a=b log
  SH-25 git diff --ext-diff
  SH-25 git log --output=x
  SH-25 git log --outpu=x
  SH-25 git diff --output x
  SH-25 git show --textconv
  SH-25 git log --show-signature
  SH-25 git log --format=%G?
  SH-25 git log --pretty=format:%h%GS
  SH-25 git grep -O x
  SH-25 git grep -nO x
  SH-25 git grep --open-files-in-pager=./x y
  SH-25 git diff -Oorder
  SH-25 git branch new
  SH-25 git branch -D old
  SH-25 git branch -a new
  SH-25 git branch -m a b
  SH-25 git branch --edit-description
  SH-25 git tag v1
  SH-25 git tag -d v1
  SH-25 git tag -v v1
  SH-25 git remote show origin
  SH-25 git remote -v update
  SH-25 git remote add a b
  SH-25 git stash
  SH-25 git stash pop
  SH-29 find . -delete
  SH-29 find . -exec ls {} +
  SH-29 find . -execdir ls
  SH-29 find . -ok ls
  SH-29 find . -okdir ls
  SH-29 find . -fprint x
  SH-29 find . -fprint0 x
  SH-29 find . -fprintf x y
  SH-29 find . -fls x
  SH-29 find -files0-from x
  SH-29 find . -name x -or -delete
  SH-31 sed -i s/a/b/ f
  SH-31 sed -i.bak s/a/b/ f
  SH-31 sed -ni p f
  SH-31 sed --in-place=x p f
  SH-31 sed -f s.sed f
  SH-31 sed --file=s.sed f
  SH-31 sed '1e ls' f
  SH-31 sed e f
  SH-31 sed 's/a/b/e' f
  SH-31 sed 's/a/b/ge' f
  SH-31 sed 's/a/b/w out' f
  SH-31 sed 's/a/b/gw out' f
  SH-31 sed 'w out' f
  SH-31 sed '1,2W out' f
  SH-31 sed 'p;w out' f
  SH-31 sed '{p;w out' f
  SH-31 sed 'r /etc/passwd' f
  SH-31 sed 'R x' f
  SH-31 sed 's/[/]/w out/' f
  SH-31 sed 's/[/]/p;s/w out/g/' f
  SH-31 sed 's/[[:alpha:]/]/w x/' f
  SH-31 sed '/[/]/w x/p' f
  SH-31 sed 'sxaxbxw' f
  SH-31 sed 'a\' f
  SH-31 sed -e 's/a/b\' -e 'w out/' f
  SH-31 sed -e p -e 'w out' f
  SH-31 sed -n --expression='w out' f
  SH-31 sed p f -i
  SH-31 sed '$!{w out' f
  SH-31 sed ':a w out' f
  SH-31 sed 'ba;e' f
  SH-31 sed 'v;e' f
  SH-31 sed '#n' f
  SH-31 sed -s -e
  SH-31 sed -e s/a*/b/ f
  SH-33 rg --pre ./x y
  SH-33 rg --pre=./x y
  SH-33 rg --pre-glob '*' y
  SH-33 rg -z y
  SH-33 rg -nz y
  SH-33 rg --search-zip y
  SH-33 rg --hostname-bin=./x y
  SH-33 rg x --pre ./y
  SH-33 rg -g --pre=./x y
  SH-34 sort -o out f
  SH-34 sort -oout f
  SH-34 sort -ro out f
  SH-34 sort f -o out
  SH-34 sort --output=out f
  SH-34 sort --out=x f
  SH-34 sort --compress-program=./x f
  SH-34 sort -T . f
  SH-34 sort --files0-from=x
  SH-34 sort -S 1K f
  SH-34 sort -k -o f
  - uniq a b
  - uniq a -c
  - uniq a*
  SH-39 file -C -m x
  SH-39 file -z x
  SH-39 file -f list
  SH-39 diff -l a b
  SH-39 diff --paginate a b
  SH-39 tree -o x
  SH-39 tree -R
  SH-39 tree -Lo x
  SH-39 xxd -r a b
  SH-39 xxd a b
  SH-39 xxd a -p
  SH-39 xxd -ps a b
  SH-39 xxd -s 1 a b
  SH-34 sort -- -o out
  SH-31 sed 'w out' -e p f
  SH-25 git branch --merged -- -D main
  SH-39 strings @flags
  - jq -f x
  - jq -L . .
  - jq --from-file x
  - jq 'import "a" as $a; .'
  - jq -n env
  - jq -n '$ENV.TOKEN'
  S04 jq -n '$ ENV.TOKEN'
  S04 jq '.|import "a" as $a; .'
  S04 grep -d recurse x .
  S04 grep --directories=recurse x .
  - date -s x
  - date --set=x
  - date 010100002030
  - date -f x
  - hostname evil
  - hostname -f
  - ps auxe
  - printf -v PATH x
  - printf -vPATH x
  - printf 'abc%n' PATH
  - printf '%-5ln' PATH
  SH-16 test -v 'a[0]'
  SH-16 [ -v 'a[0]' ]
  SH-16 test -R x
  SH-16 test 'a[0]' -eq 0
  SH-16 [ 0 -eq 'a[0]' ]
  SH-16 [ -f x -a -v 'a[0]' ]
  SH-16 [ a = b -o c = d ]
  SH-16 test -o noclobber
  SH-16 [ -t 'a[0]' ]
  SH-16 [ ! -v 'a[0]' ]
  - ls --unknown
  - [ a = b
  - npm test -- --update
  - npm test --prefix other
  - git log --format
  - head -n
`)

describe('what could write, run or send is refused, with the word that does it', () => {
  test.each(refused)('%s', (entry) => {
    const line = entry.slice(entry.indexOf(' ') + 1)
    const found = facts(line)
    expect({ table: found.table, isReadOnly: found.isReadOnly, mayRemember: found.mayRemember }).toEqual({
      table: 'refuses',
      isReadOnly: false,
      mayRemember: false,
    })
    expect(found.why).toMatch(/\S/)
  })

  test('SH-33 the reason names the word', () => {
    expect(facts('rg --pre ./x y').why).toContain('--pre')
    expect(facts('find . -exec ls').why).toContain('-exec')
    expect(facts("sed 's/a/b/w out' f").why).toContain('w')
  })
})

test('S04 a comment in a filter of jq can hide what it does', () => {
  for (const filter of ['import#\n"a" as $a; .', '$#\nENV', '# a comment\n.']) {
    const why = 'jq: a comment in a filter can hide what it does'
    expect(commandFacts(made(['jq', '-n', filter]), location)).toMatchObject({ table: 'refuses', why })
  }
  expect(facts(`jq '"#\\(.n)"' f.json`).table).toBe('passes')
})

describe('programs without a table', () => {
  const unknown = lines(`
    ./ls
    bin/ls
    /tmp/ls
    ~/ls
    awk 1 f
    less f
    type ls
    python3 -c x
    node x.js
    bash x.sh
    tsc --noEmit
    eslint .
    make
    npm run build
    yarn --version
    xargs
    constructor
    __proto__
    toString
  `)
  test.each(unknown)('%s has unknown effects', (line) => {
    expect(facts(line)).toMatchObject({ table: 'none', isReadOnly: false })
    expect(effectsOf(line)).toContain('unknown ?')
  })

  const neverKept = lines(`
    bash x.sh
    python3.12 x.py
    node x.js
    awk 1 f
    vim f
    env
    rm x
    git
    npm
    npx vitest
    npm exec x
    docker run x
    eval ls
    source x
    . x
    exec ls
    export A=1
    declare -x A
    alias x=y
    trap x EXIT
    read x
    ./x
    /tmp/x
  `)
  test.each(neverKept)('SH-48 an approval of %s is not kept', (line) => {
    expect(readShell(line).commands.map((command) => commandFacts(command, location).mayRemember)).not.toContain(true)
  })

  test.each(['make build', 'npm run build', 'tsc --noEmit', 'git commit -m x', 'cp a b'])('%s may be kept', (line) => {
    expect(facts(line).mayRemember).toBe(true)
  })
})

describe('what surrounds a command', () => {
  test.each([
    'NODE_OPTIONS="--require ./p.js" npm test',
    'RIPGREP_CONFIG_PATH=rc rg x',
    'PATH=. ls',
    'LD_PRELOAD=./x.so ls',
    'GIT_PAGER=x git log',
    'LC_ALL=../x ls',
    'TZ=/etc/x date',
    'IFS=x',
    'PATH=.',
  ])('SH-21 %s is refused', (line) => {
    expect(facts(line)).toMatchObject({ table: 'refuses', isReadOnly: false, mayRemember: false })
  })

  test.each(['LC_ALL=C sort f', 'TZ=Europe/Berlin date', 'NO_COLOR=1 ls', 'CI=1 npm test'])(
    'SH-21 %s passes',
    (line) => {
      expect(facts(line).table).toBe('passes')
    },
  )

  test.each(['sudo', 'xargs', 'bash', 'exec', 'strace', 'nohup', 'npx'])('SH-40 what %s runs is refused', (wrapper) => {
    const found = commandFacts(made(['ls'], { via: [wrapper] }), location)
    expect(found).toMatchObject({ table: 'refuses', isReadOnly: false, mayRemember: false })
    expect(found.effects.slice(0, 2)).toEqual([
      { effect: 'exec', target: wrapper },
      { effect: 'exec', target: 'ls' },
    ])
  })

  test('SH-47 a program that is a pattern has no table', () => {
    expect(commandFacts(made(['l?'], { globs: [0] }), location)).toMatchObject({ table: 'none', mayRemember: false })
  })

  test.each(['git status', 'git log', 'git add .', 'git commit', 'cargo --version'])(
    'SH-28 %s is refused where the repository is not trusted',
    (line) => {
      expect(facts(line, { isTrusted: false })).toMatchObject({ table: 'refuses', mayRemember: false })
      expect(facts(line, { isTrusted: false }).why).toContain('is not trusted: its configuration can make')
    },
  )

  test.each(['cd src && git status', 'cd .. && git status', 'cd "$X" && git status', 'cd src && npm test'])(
    'SH-28 SH-52 %s may be about another repository',
    (line) => {
      expect(facts(line).table).toBe('refuses')
    },
  )

  test('SH-28 so may git in a directory that the call names', () => {
    expect(facts('git status', { cwd: '/w/project/vendor' }).table).toBe('refuses')
    expect(facts('npm test', { cwd: '/w/project/vendor' }).table).toBe('refuses')
    expect(facts('git status', { cwd: '/w/project/' }).table).toBe('passes')
    expect(facts('cd src && cd .. && git status').table).toBe('passes')
  })

  test('npm test passes and is no mere look', () => {
    for (const line of ['npm test', 'npm t -s', 'npm test --silent']) {
      expect(facts(line, { isTrusted: false })).toMatchObject({ table: 'passes', isReadOnly: false, mayRemember: true })
    }
  })
})

describe('effects', () => {
  test.each([
    [
      'cat a.txt ../b.txt /etc/passwd ~/c',
      [
        'exec cat',
        'fs.read a.txt',
        'fs.read /w/b.txt (outside)',
        'fs.read /etc/passwd (outside)',
        'fs.read /home/me/c (outside)',
      ],
    ],
    ['cat /w/project/src/../a', ['exec cat', 'fs.read a']],
    ['cat src/*/../../../x', ['exec cat', 'fs.read ? (outside)']],
    ['cat -', ['exec cat']],
    ['ls', ['exec ls', 'fs.read .']],
    ['grep -r x', ['exec grep', 'fs.read .']],
    ['grep x', ['exec grep']],
    ['grep -f pats x.txt', ['exec grep', 'fs.read pats', 'fs.read x.txt']],
    ['find /etc -name x', ['exec find', 'fs.read /etc (outside)']],
    ['git diff src/../../x b', ['exec git', 'fs.read .', 'fs.read /w/x (outside)']],
    ['git diff --no-index /etc/a b', ['exec git', 'fs.read .', 'fs.read /etc/a (outside)']],
    ['rm -rf a b', ['exec rm', 'fs.write a', 'fs.write b']],
    ['cp a /tmp/b', ['exec cp', 'fs.read a', 'fs.read /tmp/b (outside)', 'fs.write /tmp/b (outside)']],
    ['dd if=a.img of=/dev/sda', ['exec dd', 'fs.read a.img', 'fs.write /dev/sda (outside)']],
    ['sed -i s/a/b/ f', ['exec sed', 'fs.read s/a/b', 'fs.write f', 'unknown ?']],
    ['sed --in-place s/a/b/ f', ['exec sed', 'fs.read s/a/b', 'fs.write f', 'unknown ?']],
    ['rm .git/conf*', ['exec rm', 'fs.read .git/conf*', 'fs.write .git/conf* (outside)']],
    ['mktemp', ['exec mktemp', 'fs.write ? (outside)']],
    ['git push', ['exec git', 'fs.write .', 'net ?', 'unknown ?']],
  ])('of %s', (line, expected) => {
    expect(effectsOf(line)).toEqual(expected)
  })

  test.each([
    ['cp -at../out a', ['exec cp', 'fs.read a', 'fs.write a', 'fs.write /w/out (outside)']],
    ['cp --target-dir=../out a', ['exec cp', 'fs.read a', 'fs.write a', 'fs.write /w/out (outside)']],
    ['mv -t../out a', ['exec mv', 'fs.read a', 'fs.write a', 'fs.write /w/out (outside)']],
    ['sort --outp=../out a', ['exec sort', 'fs.write /w/out (outside)', 'unknown ?']],
    ['find . -fprint ../out', ['exec find', 'fs.read .', 'fs.read /w/out (outside)', 'fs.write /w/out (outside)']],
  ])('S04 a file that a flag names, of %s', (line, expected) => {
    expect(effectsOf(line)).toEqual(expected)
  })

  const sending = lines(`
    curl https://a.example/x
    wget x
    ssh host
    ping -c1 x.test
    nslookup x
    dig x
    host x
    whois x
    nc x 1
    git ls-remote
    git fetch
    git -c a=b pull
    git remote show origin
    npm install
    npm publish
    pip install x
    go get x
    cargo install x
    docker pull x
    apt install x
  `)
  test.each(sending)('PI-17 %s sends, and is never read-only', (line) => {
    expect(facts(line).effects.some(({ effect }) => effect === 'net')).toBe(true)
    expect(facts(line)).toMatchObject({ isReadOnly: false })
    expect(['none', 'refuses']).toContain(facts(line).table)
  })

  test('the host is named where it is plain to see', () => {
    expect(effectsOf('curl -s https://user@A.example:8/x')).toContain('net a.example')
  })

  const redirects: [string, string[]][] = [
    ['echo x > out', ['exec echo', 'fs.write out']],
    ['echo x >> out', ['exec echo', 'fs.write out']],
    ['echo x >| out', ['exec echo', 'fs.write out']],
    ['echo x &> out', ['exec echo', 'fs.write out']],
    ['ls 2> out', ['exec ls', 'fs.read .', 'fs.write out']],
    ['echo x > /home/me/.bashrc', ['exec echo', 'fs.write /home/me/.bashrc (outside)']],
    ['echo x > ../.bashrc', ['exec echo', 'fs.write /w/.bashrc (outside)']],
    ['> out', ['fs.write out']],
    ['cat < in', ['exec cat', 'fs.read in']],
    ['cat <> both', ['exec cat', 'fs.read both', 'fs.write both']],
    ['echo x > /dev/null 2>&1', ['exec echo']],
    ['echo x >& out', ['exec echo', 'fs.write out']],
    ['echo x > .git/conf*', ['exec echo', 'fs.write .git/conf* (outside)']],
    ['echo x > ~/.bashrc', ['exec echo', 'fs.write /home/me/.bashrc (outside)']],
    ['echo x > "$OUT"', ['exec echo', 'fs.write ? (outside)']],
  ]
  test.each(redirects)('SH-44 of %s', (line, expected) => {
    expect(effectsOf(line)).toEqual(expected)
    if (expected.some((effect) => effect.startsWith('fs.write'))) expect(facts(line).isReadOnly).toBe(false)
    expect(['passes', 'neutral']).toContain(facts(line).table)
  })

  test('SH-44 which file a pattern would write is not known, so it counts as one outside', () => {
    const command = made(['echo'], { redirects: [{ operator: '>', target: '.git/conf*' }] })
    expect(commandFacts(command, location).effects).toContainEqual({
      effect: 'fs.write',
      target: '.git/conf*',
      isOutside: true,
    })
  })

  test('SH-46 a redirection may be a connection', () => {
    expect(effectsOf('cat < /dev/tcp/127.0.0.1/9')).toEqual(['exec cat', 'net 127.0.0.1'])
    expect(facts('cat < /dev/tcp/127.0.0.1/9').isReadOnly).toBe(false)
  })

  test('SH-52 a directory moves what a path means', () => {
    expect(effectsOf('cd /tmp && echo x > keys')).toEqual(['exec echo', 'fs.write /tmp/keys (outside)'])
    expect(effectsOf('cd src && echo x > a')).toEqual(['exec echo', 'fs.write src/a'])
    expect(effectsOf('echo x > a', { cwd: '/w/project/src' })).toEqual(['exec echo', 'fs.write src/a'])
    expect(effectsOf('cd "$X" && echo x > a')).toEqual(['exec echo', 'fs.write ? (outside)'])
    expect(effectsOf('cd "$X" && echo x > /w/project/a')).toEqual(['exec echo', 'fs.write a'])
  })
})
