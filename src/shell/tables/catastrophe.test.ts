import { describe, expect, test } from 'vitest'
import { notWhole, readShell } from '../read-shell.ts'
import { shellFacts } from '../shell-facts.ts'
import type { ShellLocation } from '../shell-location.ts'

const location: ShellLocation = { root: '/home/me/desk/project', home: '/home/me', isTrusted: true }
const why = (line: string, where: Partial<ShellLocation> = {}): string | undefined =>
  shellFacts(readShell(line), { ...location, ...where }).catastrophe

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

describe('SH-57 irreparable damage is reported, in every mode', () => {
  const fatal = lines(`
    rm -rf /
    rm -rf //
    rm -rf /.
    rm -fr /*
    rm -r -f /
    rm --recursive --force /
    rm --rec /
    rm -Rf -- /
    rm / -rf
    rm -rf --no-preserve-root /
    rm -rf /usr
    rm -rf /etc/
    rm -rf /home/*
    rm -rf /u*
    rm -rf ~
    rm -rf ~/
    rm -rf ~/*
    rm -rf ~/.*
    rm -rf ~bob
    rm -rf $HOME
    rm -rf "$HOME"/
    rm -rf "$UNSET"/*
    rm -rf "$UNSET/"
    rm -rf $A$B
    cd src && rm -rf $A
    rm -rf $X/usr
    rm -rf $(pwd)
    rm -rf .
    rm -rf ./
    rm -rf *
    rm -rf ./*
    rm -rf {*,.*}
    rm -rf ..
    rm -rf ../..
    rm -rf src/..
    rm -rf /home/me/desk/project
    rm -rf /home/me/desk/project/*
    rm -rf /home/me/desk
    cd / && rm -rf *
    cd .. && rm -rf project
    cd "$X" && rm -rf *
    cd src; rm -rf *
    sudo rm -rf /
    /bin/rm -rf /
    env rm -rf /
    timeout 5 rm -rf ~
    sh -c 'rm -rf /'
    echo $(rm -rf /)
    true && rm -rf / --no-preserve-root
    find / -delete
    find ~ -name x -delete
    find / -exec rm {} +
    cd / && find -delete
    git clean -fdx /
    git clean -f -d -x ..
    git -C / clean -fdx
    cd .. && git clean -fdx
    mkfs.ext4 /dev/sda1
    mkfs -t ext4 x
    dd if=/dev/zero of=/dev/sda
    echo x > /dev/sda
    echo x <> /dev/sda
    cat x | tee /dev/nvme0n1
    cp x /dev/disk2
    chmod -R 777 /
    chown -R me ~
    chmod -R 000 /etc
    shutdown now
    sudo reboot
    systemctl poweroff
    init 0
    :(){ :|:& };:
    f() { f | f & }; f
  `)
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's
  test.each([...fatal, 'rm -rf ${A}/${B}'])('%s', (line) => {
    expect(why(line)).toMatch(/\S/)
  })

  const fine = lines(`
    rm -rf build
    rm -rf node_modules dist
    rm -rf src/*
    rm -rf build*
    rm -rf *.log
    rm -rf /tmp/x
    rm -rf ../other
    rm -rf ~/desk/project/dist
    rm -rf "$DIR"/dist
    rm *
    rm a
    find . -name '*.pyc' -delete
    find / -name x
    git clean -fdx
    git clean -n /
    chmod -R u+w .
    chown -R me src
    dd if=/dev/zero of=x.img
    echo x > /dev/null
    head -c 16 < /dev/sda
    echo shutdown
    grep -r rm /
    f() { ls; }; f
    : ; : ; :
    cd src && rm -rf *
  `)
  test.each(fine)('not %s', (line) => {
    expect(why(line)).toBeUndefined()
  })

  test('a line that could not be read is judged by its words', () => {
    const seen = (line: string): string | undefined => shellFacts(notWhole(line, 'too long'), location).catastrophe
    expect(seen('true; rm -rf /')).toContain('rm')
    expect(seen('true; /sbin/mkfs.ext4 x')).toContain('mkfs')
    expect(seen('true; ls')).toBeUndefined()
  })
})
