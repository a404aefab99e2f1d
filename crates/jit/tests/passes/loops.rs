//! Examples of passes whose business is loops.

use super::examples::Example;

pub(crate) const LOOPS: &[Example] = &[
    Example {
        pass: "unroll",
        program: "r0 = 0\n\
             again:\n\
             r0 += 3\n\
             if r0 < r1 goto again\n\
             exit",
        with: "xor eax,eax\n\
             add rax,3\n\
             cmp rax,rdi\n\
             jae short 0000000000000026h\n\
             add rax,3\n\
             cmp rax,rdi\n\
             jae short 0000000000000026h\n\
             add rax,3\n\
             cmp rax,rdi\n\
             jae short 0000000000000026h\n\
             add rax,3\n\
             cmp rax,rdi\n\
             jb short 2\n\
             ret\n",
        without: "xor eax,eax\n\
             add rax,3\n\
             cmp rax,rdi\n\
             jb short 2\n\
             ret\n",
    },
    Example {
        pass: "trips",
        program: "r0 = 0\n\
             r2 = 0\n\
             again:\n\
             r0 ^= r2\n\
             r2 += 4\n\
             if r2 < 24 goto again\n\
             exit",
        with: "xor eax,eax\n\
             xor esi,esi\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jb short 4\n\
             ret\n",
        without: "xor eax,eax\n\
             xor esi,esi\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jae short 0000000000000038h\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jae short 0000000000000038h\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jae short 0000000000000038h\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jb short 4\n\
             ret\n",
    },
    Example {
        pass: "counters",
        program: "r0 = 0\n\
             r2 = 0\n\
             again:\n\
             *(u8 *)(r1 +0) = 7\n\
             if r3 == r4 goto out\n\
             r3 ^= r5\n\
             r1 += 2\n\
             if r1 != 64 goto again\n\
             r0 = 1\n\
             out:\n\
             r0 += r1\n\
             exit",
        with: "xor eax,eax\n\
             mov byte ptr [rdi],7\n\
             cmp rdx,rcx\n\
             je 0000000000000056h\n\
             xor rdx,r8\n\
             cmp rdi,3Eh\n\
             je short 000000000000005Ah\n\
             mov byte ptr [rdi+2],7\n\
             cmp rdx,rcx\n\
             je short 0000000000000060h\n\
             xor rdx,r8\n\
             cmp rdi,3Ch\n\
             je short 0000000000000066h\n\
             mov byte ptr [rdi+4],7\n\
             cmp rdx,rcx\n\
             je short 000000000000006Ch\n\
             xor rdx,r8\n\
             cmp rdi,3Ah\n\
             je short 0000000000000072h\n\
             mov byte ptr [rdi+6],7\n\
             cmp rdx,rcx\n\
             je short 0000000000000078h\n\
             xor rdx,r8\n\
             add rdi,8\n\
             cmp rdi,40h\n\
             jne short 2\n\
             mov eax,1\n\
             add rax,rdi\n\
             ret\n\
             lea rdi,[rdi+2]\n\
             jmp short 0000000000000051h\n\
             lea rdi,[rdi+2]\n\
             jmp short 0000000000000056h\n\
             lea rdi,[rdi+4]\n\
             jmp short 0000000000000051h\n\
             lea rdi,[rdi+4]\n\
             jmp short 0000000000000056h\n\
             lea rdi,[rdi+6]\n\
             jmp short 0000000000000051h\n\
             lea rdi,[rdi+6]\n\
             jmp short 0000000000000056h\n",
        without: "xor eax,eax\n\
             mov byte ptr [rdi],7\n\
             cmp rdx,rcx\n\
             je 000000000000005Fh\n\
             xor rdx,r8\n\
             add rdi,2\n\
             cmp rdi,40h\n\
             je short 000000000000005Ah\n\
             mov byte ptr [rdi],7\n\
             cmp rdx,rcx\n\
             je short 000000000000005Fh\n\
             xor rdx,r8\n\
             add rdi,2\n\
             cmp rdi,40h\n\
             je short 000000000000005Ah\n\
             mov byte ptr [rdi],7\n\
             cmp rdx,rcx\n\
             je short 000000000000005Fh\n\
             xor rdx,r8\n\
             add rdi,2\n\
             cmp rdi,40h\n\
             je short 000000000000005Ah\n\
             mov byte ptr [rdi],7\n\
             cmp rdx,rcx\n\
             je short 000000000000005Fh\n\
             xor rdx,r8\n\
             add rdi,2\n\
             cmp rdi,40h\n\
             jne short 2\n\
             mov eax,1\n\
             add rax,rdi\n\
             ret\n",
    },
    Example {
        pass: "sums",
        program: "r0 = 0\n\
             again:\n\
             r2 = *(u32 *)(r1 +0)\n\
             w0 += w2\n\
             if r2 != 64 goto again\n\
             exit",
        with: "xor eax,eax\n\
             xor r9d,r9d\n\
             mov esi,[rdi]\n\
             add eax,esi\n\
             cmp rsi,40h\n\
             je short 0000000000000033h\n\
             mov esi,[rdi]\n\
             add r9d,esi\n\
             cmp rsi,40h\n\
             je short 0000000000000038h\n\
             mov esi,[rdi]\n\
             add eax,esi\n\
             cmp rsi,40h\n\
             je short 000000000000003Dh\n\
             mov esi,[rdi]\n\
             add r9d,esi\n\
             cmp rsi,40h\n\
             jne short 5\n\
             add eax,r9d\n\
             ret\n\
             add eax,r9d\n\
             jmp short 0000000000000032h\n\
             add eax,r9d\n\
             jmp short 0000000000000032h\n\
             add eax,r9d\n\
             jmp short 0000000000000032h\n",
        without: "xor eax,eax\n\
             mov esi,[rdi]\n\
             add eax,esi\n\
             cmp rsi,40h\n\
             je short 000000000000002Ah\n\
             mov esi,[rdi]\n\
             add eax,esi\n\
             cmp rsi,40h\n\
             je short 000000000000002Ah\n\
             mov esi,[rdi]\n\
             add eax,esi\n\
             cmp rsi,40h\n\
             je short 000000000000002Ah\n\
             mov esi,[rdi]\n\
             add eax,esi\n\
             cmp rsi,40h\n\
             jne short 2\n\
             ret\n",
    },
    Example {
        pass: "latches",
        program: "r0 = 0\n\
             goto again\n\
             next:\n\
             r2 += 1\n\
             if r2 != 16 goto again\n\
             exit\n\
             again:\n\
             if r0 s> 5 goto more\n\
             r0 += r2\n\
             goto next\n\
             more:\n\
             r0 ^= r2\n\
             goto next",
        with: "xor eax,eax\n\
             jmp short 000000000000000Fh\n\
             add rsi,1\n\
             cmp rsi,10h\n\
             jne short 000000000000000Fh\n\
             ret\n\
             cmp rax,5\n\
             jg short 0000000000000024h\n\
             add rax,rsi\n\
             add rsi,1\n\
             cmp rsi,10h\n\
             jne short 000000000000000Fh\n\
             jmp short 000000000000000Eh\n\
             xor rax,rsi\n\
             add rsi,1\n\
             cmp rsi,10h\n\
             jne short 000000000000000Fh\n\
             jmp short 000000000000000Eh\n",
        without: "xor eax,eax\n\
             jmp short 000000000000000Fh\n\
             add rsi,1\n\
             cmp rsi,10h\n\
             jne short 000000000000000Fh\n\
             ret\n\
             cmp rax,5\n\
             jg short 000000000000001Ah\n\
             add rax,rsi\n\
             jmp short 4\n\
             xor rax,rsi\n\
             jmp short 4\n",
    },
    Example {
        pass: "bases",
        program: "r0 = 0\n\
             again:\n\
             r2 = 0x123456789a ll\n\
             r0 ^= r2\n\
             r2 = 0x12345678aa ll\n\
             r0 += r2\n\
             r1 += -1\n\
             if r1 != 0 goto again\n\
             exit",
        with: "push rbp\n\
             mov rbp,123456789Ah\n\
             xor eax,eax\n\
             mov rsi,rbp\n\
             xor rax,rsi\n\
             lea rsi,[rbp+10h]\n\
             add rax,rsi\n\
             add rdi,0FFFFFFFFFFFFFFFFh\n\
             test rdi,rdi\n\
             jne short 000000000000000Eh\n\
             pop rbp\n\
             ret\n",
        without: "xor eax,eax\n\
             mov rsi,123456789Ah\n\
             xor rax,rsi\n\
             mov rsi,12345678AAh\n\
             add rax,rsi\n\
             add rdi,0FFFFFFFFFFFFFFFFh\n\
             test rdi,rdi\n\
             jne short 2\n\
             ret\n",
    },
    // A block that is jumped over and not rare stays.
    Example {
        pass: "layout",
        program: "r0 = 0\n\
             r2 = 0\n\
             again:\n\
             r3 = 1\n\
             if r0 != 7 goto over\n\
             r3 = 0\n\
             over:\n\
             r0 += r3\n\
             if r0 > 9 goto other\n\
             r0 ^= r2\n\
             other:\n\
             r2 += 1\n\
             if r2 != 16 goto again\n\
             exit",
        with: "xor eax,eax\n\
             xor esi,esi\n\
             jmp short 000000000000001Ch\n\
             add rax,rdx\n\
             cmp rax,9\n\
             ja short 0000000000000012h\n\
             xor rax,rsi\n\
             add rsi,1\n\
             cmp rsi,10h\n\
             je short 000000000000002Bh\n\
             mov edx,1\n\
             cmp rax,7\n\
             jne short 6\n\
             xor edx,edx\n\
             jmp short 6\n\
             ret\n",
        without: "xor eax,eax\n\
             xor esi,esi\n\
             mov edx,1\n\
             cmp rax,7\n\
             jne short 0000000000000011h\n\
             xor edx,edx\n\
             add rax,rdx\n\
             cmp rax,9\n\
             ja short 000000000000001Dh\n\
             xor rax,rsi\n\
             add rsi,1\n\
             cmp rsi,10h\n\
             jne short 4\n\
             ret\n",
    },
    Example {
        pass: "align",
        program: "r0 = 0x123456789a ll\n\
             r3 = 0x123456789b ll\n\
             again:\n\
             r0 += r3\n\
             r1 += -1\n\
             if r1 != 0 goto again\n\
             exit",
        with: "mov rax,123456789Ah\n\
             mov rdx,123456789Bh\n\
             nop [rax+rax]\n\
             nop [rax]\n\
             add rax,rdx\n\
             add rdi,0FFFFFFFFFFFFFFFFh\n\
             test rdi,rdi\n\
             jne short 0000000000000020h\n\
             ret\n",
        without: "mov rax,123456789Ah\n\
             mov rdx,123456789Bh\n\
             add rax,rdx\n\
             add rdi,0FFFFFFFFFFFFFFFFh\n\
             test rdi,rdi\n\
             jne short 0000000000000014h\n\
             ret\n",
    },
    Example {
        pass: "chains",
        program: "again:\n\
             r3 = *(u32 *)(r1 +0)\n\
             r4 = *(u32 *)(r1 +4)\n\
             r3 += r0\n\
             r4 += r3\n\
             r0 = r4\n\
             r1 += 8\n\
             if r1 != r2 goto again\n\
             exit",
        with: "mov edx,[rdi]\n\
             mov ecx,[rdi+4]\n\
             add rcx,rdx\n\
             add rcx,rax\n\
             mov rax,rcx\n\
             add rdi,8\n\
             cmp rdi,rsi\n\
             jne short 0\n\
             ret\n",
        without: "mov edx,[rdi]\n\
             mov ecx,[rdi+4]\n\
             add rdx,rax\n\
             add rcx,rdx\n\
             mov rax,rcx\n\
             add rdi,8\n\
             cmp rdi,rsi\n\
             jne short 0\n\
             ret\n",
    },
    Example {
        pass: "products",
        program: "r0 = *(u32 *)(r1 +0)\n\
             w0 *= 9\n\
             r0 *= 31\n\
             r0 *= 5\n\
             exit",
        with: "mov eax,[rdi]\n\
             lea eax,[rax+rax*8]\n\
             imul rax,1Fh\n\
             lea rax,[rax+rax*4]\n\
             ret\n",
        without: "mov eax,[rdi]\n\
             imul eax,9\n\
             imul rax,1Fh\n\
             imul rax,5\n\
             ret\n",
    },
    Example {
        pass: "products",
        program: "again:\n\
             r3 = *(u8 *)(r1 +0)\n\
             w0 *= 31\n\
             w0 += w3\n\
             w4 *= 257\n\
             w3 += w4\n\
             w4 = w3\n\
             w5 *= 33\n\
             r1 += 1\n\
             if r1 != r2 goto again\n\
             exit",
        with: "movzx edx,byte ptr [rdi]\n\
             mov r11d,edx\n\
             sub r11d,eax\n\
             shl eax,5\n\
             add eax,r11d\n\
             mov r11d,ecx\n\
             shl r11d,8\n\
             add edx,ecx\n\
             add edx,r11d\n\
             mov ecx,edx\n\
             mov r11d,r8d\n\
             shl r8d,5\n\
             add r8d,r11d\n\
             add rdi,1\n\
             cmp rdi,rsi\n\
             jne short 0\n\
             ret\n",
        without: "movzx edx,byte ptr [rdi]\n\
             imul eax,1Fh\n\
             add eax,edx\n\
             imul ecx,101h\n\
             add edx,ecx\n\
             mov ecx,edx\n\
             imul r8d,21h\n\
             add rdi,1\n\
             cmp rdi,rsi\n\
             jne short 0\n\
             ret\n",
    },
    Example {
        pass: "layout",
        program: "goto head\n\
             left:\n\
             r1 += r4\n\
             goto latch\n\
             head:\n\
             r4 = *(u8 *)(r1 +0)\n\
             if r4 > r5 goto left\n\
             r0 += r4\n\
             latch:\n\
             r1 += 1\n\
             if r1 != r2 goto head\n\
             exit",
        with: "jmp short 000000000000000Eh\n\
             add rdi,rcx\n\
             add rdi,1\n\
             cmp rdi,rsi\n\
             je short 000000000000001Bh\n\
             movzx ecx,byte ptr [rdi]\n\
             cmp rcx,r8\n\
             ja short 2\n\
             add rax,rcx\n\
             jmp short 5\n\
             ret\n",
        without: "jmp short 7\n\
             add rdi,rcx\n\
             jmp short 0000000000000012h\n\
             movzx ecx,byte ptr [rdi]\n\
             cmp rcx,r8\n\
             ja short 2\n\
             add rax,rcx\n\
             add rdi,1\n\
             cmp rdi,rsi\n\
             jne short 7\n\
             ret\n",
    },
    // Entered by a jump.
    Example {
        pass: "trips",
        program: "r0 = 0\n\
             r2 = 0\n\
             if r1 != 0 goto again\n\
             exit\n\
             again:\n\
             r0 ^= r2\n\
             r2 += 4\n\
             if r2 < 24 goto again\n\
             exit",
        with: "xor eax,eax\n\
             xor esi,esi\n\
             test rdi,rdi\n\
             jne short 000000000000000Ah\n\
             ret\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jb short 000000000000000Ah\n\
             ret\n",
        without: "xor eax,eax\n\
             xor esi,esi\n\
             test rdi,rdi\n\
             jne short 000000000000000Ah\n\
             ret\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jae short 000000000000003Eh\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jae short 000000000000003Eh\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jae short 000000000000003Eh\n\
             xor rax,rsi\n\
             add rsi,4\n\
             cmp rsi,18h\n\
             jb short 000000000000000Ah\n\
             ret\n",
    },
];
