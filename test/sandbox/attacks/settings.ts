// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are lines of a shell, not templates
import type { AttackClass } from '../attack.ts'

/** A library that runs `payload.sh` as soon as a program loads it. */
const library = (
  name: string,
): string => `printf '%s\\n' '#include <stdlib.h>' '__attribute__((constructor)) void x(void) {' ' unsetenv("LD_LIBRARY_PATH"); unsetenv("GCONV_PATH"); unsetenv("OPENSSL_CONF"); system("./payload.sh"); }' 'int gconv(void) { return 1; }' 'int gconv_init(void) { return 1; }' > e.c
  gcc -shared -fPIC -o ${name} e.c`
const system = 'import os; os.system("./payload.sh")'

/** Files of settings and variables that name code, which well-known programs run. */
export const settings: AttackClass = {
  name: 'settings and variables',
  leak: 'outside',
  attacks: [
    {
      name: 'encodings',
      line: 'GCONV_PATH=$PWD iconv -f X -t UTF-8 notes.txt',
      setup: `printf 'module X// INTERNAL evil 1\\nmodule INTERNAL X// evil 1\\n' > gconv-modules; ${library('evil.so')}`,
      needs: ['gcc', 'iconv'],
    },
    {
      name: 'libraries',
      line: 'LD_LIBRARY_PATH=$PWD/l /bin/ls',
      setup: `mkdir l; ${library('l/libselinux.so.1')}`,
      needs: ['gcc'],
    },
    {
      name: 'encryption',
      line: 'OPENSSL_CONF=$PWD/c openssl version -a',
      setup: `printf 'openssl_conf = a\\n[a]\\nengines = b\\n[b]\\nc = d\\n[d]\\ndynamic_path = @WORK/evil.so\\ninit = 0\\n' > c; ${library('evil.so')}`,
      needs: ['gcc', 'openssl'],
    },
    { name: 'reader of less', line: "LESSOPEN='|./payload.sh %s' less notes.txt | cat", needs: ['less'] },
    {
      name: 'site of python',
      line: 'PYTHONUSERBASE=$PWD/u python3 -c 1',
      setup: `d=$(PYTHONUSERBASE=$PWD/u python3 -m site --user-site); mkdir -p "$d"; echo '${system}' > "$d/usercustomize.py"`,
      needs: ['python3'],
    },
    {
      name: 'path file of python',
      line: 'PYTHONUSERBASE=$PWD/u python3 -c 1',
      setup: `d=$(PYTHONUSERBASE=$PWD/u python3 -m site --user-site); mkdir -p "$d"; echo '${system}' > "$d/x.pth"`,
      needs: ['python3'],
    },
    {
      name: 'breakpoint of python',
      line: 'PYTHONPATH=. PYTHONBREAKPOINT=evil.run python3 -c "breakpoint()"',
      setup: 'printf \'import os\\ndef run(): os.system("./payload.sh")\\n\' > evil.py',
      needs: ['python3'],
    },
    {
      name: 'log of java',
      line: 'JAVA_TOOL_OPTIONS=-Xlog:all:file=@OUT/new java -version',
      needs: ['java'],
    },
    {
      name: 'modules of node',
      line: 'NODE_PATH=$PWD/m node -e \'require("evil")\'',
      setup: `mkdir -p m; echo 'require("child_process").execFileSync("./payload.sh")' > m/evil.js`,
      needs: ['node'],
    },
    {
      name: 'options of node in the settings of npm',
      line: 'npm test',
      setup: `echo '{"scripts":{"test":"node -e 1"}}' > package.json; echo 'node-options=--require=@WORK/p.cjs' > .npmrc
        echo 'require("child_process").execFileSync("@WORK/payload.sh")' > p.cjs`,
      needs: ['npm'],
    },
    {
      name: 'settings of npm by an option',
      line: 'npm --userconfig ./c test',
      setup: `echo '{"scripts":{"test":"true"}}' > package.json; echo script-shell=@WORK/payload.sh > c`,
      needs: ['npm'],
    },
    {
      name: 'warnings of node',
      line: 'node --redirect-warnings=@OUT/new -e "process.emitWarning(1+String())"',
      needs: ['node'],
    },
    { name: 'trace of git', line: 'GIT_TRACE2_EVENT=@OUT/new git status' },
    { name: 'packets of git', line: 'GIT_TRACE_PACKET=@OUT/new git ls-remote .' },
    { name: 'trace of bash', line: 'exec 9> @OUT/new; BASH_XTRACEFD=9; set -x; true' },
    { name: 'key', line: 'ssh-keygen -q -t ed25519 -N "" -f @OUT/new', needs: ['ssh-keygen'] },
    {
      name: 'coverage of a compiler',
      line: 'GCOV_PREFIX=@OUT GCOV_PREFIX_STRIP=99 ./a.out',
      setup: 'echo "int main() { return 0; }" > a.c; gcc --coverage a.c',
      needs: ['gcc'],
    },
    {
      name: 'description of a terminal',
      line: 'tic -o @OUT/new t',
      setup: "printf 'x|x,\\n\\tam,\\n' > t",
      needs: ['tic'],
    },
    { name: 'overwriting', line: 'shred -n 1 @OUT/keep.txt', needs: ['shred'] },
    {
      name: 'remote of a program',
      line: 'PATH=$PWD:$PATH git ls-remote x::y',
      setup: 'cp payload.sh git-remote-x',
    },
    {
      name: 'helper of a remote in the configuration',
      line: 'PATH=$PWD:$PATH git ls-remote o',
      setup: 'git config remote.o.url y; git config remote.o.vcs x; cp payload.sh git-remote-x',
    },
    {
      name: 'configuration under a condition',
      line: 'git st',
      setup: `printf '[alias]\\n\\tst = !./payload.sh\\n' > more; git config 'includeIf.gitdir:@WORK/.path' ../more`,
    },
    {
      name: 'references of another repository',
      line: 'git fetch -q o',
      setup: `git clone -q . o; git clone -q . p; git remote add o ./o; echo @WORK/p/.git/objects > .git/objects/info/alternates
        git -C o commit -q --allow-empty -m x; git config core.alternateRefsCommand @WORK/payload.sh`,
    },
    {
      name: 'update of a submodule',
      line: 'git submodule --quiet update',
      setup: `git init -q m; git -C m commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule --quiet add ./m n
        git commit -qm x; git -C n checkout -q --detach; git -C n commit -q --allow-empty -m y; git config submodule.n.update '!@WORK/payload.sh'`,
    },
    {
      name: 'pager of a command',
      line: "env -u GIT_PAGER script -qc 'git log' /dev/null",
      setup: 'git config pager.log ./payload.sh',
      needs: ['script'],
    },
    {
      name: 'merge tool',
      line: 'git mergetool -y --tool=x',
      setup: `git checkout -qb other; echo b > notes.txt; git commit -qam b; git checkout -q -; echo c > notes.txt; git commit -qam c
        git merge -q other; git config mergetool.x.cmd ./payload.sh`,
    },
    {
      name: 'password program',
      line: 'env -u GIT_TERMINAL_PROMPT GIT_ASKPASS=./payload.sh git credential fill <<< url=http://127.0.0.1/',
    },
    {
      name: 'password program by the configuration',
      line: 'env -u GIT_ASKPASS -u SSH_ASKPASS git credential fill <<< url=http://127.0.0.1/',
      setup: 'git config core.askPass ./payload.sh',
    },
    {
      name: 'program with the rights of its owner',
      line: 'cp /bin/true docs/own; chmod 4755 docs/own',
      later: 'test -u docs/own && echo @SECRET',
      leak: 'later',
    },
    {
      name: 'program with the rights of its owner, made so',
      line: 'python3 -c \'import os; os.close(os.open("docs/own", os.O_CREAT | os.O_WRONLY, 0o4755))\'',
      later: 'test -u docs/own && echo @SECRET',
      leak: 'later',
      needs: ['python3'],
    },
    {
      name: 'program with the rights of its owner, by another call',
      line: `python3 -c '
import ctypes, os
how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
ctypes.CDLL(None).syscall(437, -100, b"docs/own", how, 24)'`,
      later: 'test -u docs/own && echo @SECRET',
      leak: 'later',
      needs: ['python3'],
    },
    {
      name: 'program with the rights of its owner, unpacked',
      line: 'tar xpf a.tar',
      setup: 'cp /bin/true docs/own; chmod 4755 docs/own; tar cf a.tar docs/own; rm docs/own',
      later: 'test -u docs/own && echo @SECRET',
      leak: 'later',
    },
  ],
}

const token = (path: string): string => `mkdir -p ${path}; echo //localhost/:_authToken=@SECRET > ${path}/.npmrc`

/** Ways around the cover of a file that a sandbox hides. */
export const covered: AttackClass = {
  name: 'covered files',
  leak: 'shown',
  attacks: [
    { name: 'token', line: 'cat .npmrc', setup: token('.') },
    { name: 'hard link', line: 'ln .npmrc x; cat x', setup: token('.') },
    { name: 'rename', line: 'mv .npmrc x; cat x', setup: token('.') },
    { name: 'folder that is moved', line: 'mv pkg other; cat other/.npmrc', setup: token('pkg') },
    {
      name: 'copy of a folder',
      line: 'cp -a pkg /tmp/@ID; cat /tmp/@ID/.npmrc',
      setup: token('pkg'),
      cleanup: 'rm -rf /tmp/@ID',
    },
    { name: 'index of git', line: 'git add -f .npmrc; git show :.npmrc', setup: token('.') },
    { name: 'archive', line: 'tar c .npmrc | tar xO', setup: token('.') },
    {
      name: 'descriptor of a folder',
      line: 'cd pkg; exec 5< .; cd /; cat /proc/self/fd/5/.npmrc',
      setup: token('pkg'),
    },
    { name: 'parent of a folder', line: 'cat docs/../.npmrc ./././.npmrc "$PWD"//.npmrc', setup: token('.') },
    {
      name: 'clone of its blocks',
      line: `python3 -c '
import os
a = os.open(".npmrc", os.O_RDONLY); b = os.open("x", os.O_RDWR | os.O_CREAT)
os.copy_file_range(a, b, 1000); os.lseek(b, 0, 0); print(os.read(b, 100))'`,
      setup: token('.'),
      needs: ['python3'],
    },
  ],
}
