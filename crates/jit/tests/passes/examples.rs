//! A program for each pass, and what is written with it and without.

pub(crate) struct Example {
    pub(crate) pass: &'static str,
    pub(crate) program: &'static str,
    pub(crate) with: &'static str,
    pub(crate) without: &'static str,
}

pub(crate) const EXAMPLES: &[Example] = &[
    Example {
        pass: "dead",
        program: "r0 = 1\n\
             r2 = 5\n\
             r3 = r2\n\
             exit",
        with: "mov eax,1\n\
             ret\n",
        without: "mov eax,1\n\
             mov esi,5\n\
             mov rdx,rsi\n\
             ret\n",
    },
    Example {
        pass: "branches",
        program: "r0 = 0\n\
             if r1 == 7 goto over\n\
             goto out\n\
             over:\n\
             r0 = 1\n\
             out:\n\
             exit",
        with: "xor eax,eax\n\
             cmp rdi,7\n\
             jne short 000000000000000Dh\n\
             mov eax,1\n\
             ret\n",
        without: "xor eax,eax\n\
             cmp rdi,7\n\
             je short 000000000000000Ah\n\
             jmp short 000000000000000Fh\n\
             mov eax,1\n\
             ret\n",
    },
    Example {
        pass: "constants",
        program: "w0 = 5\n\
             w0 += 7\n\
             if w0 == 12 goto out\n\
             r0 = 1\n\
             out:\n\
             exit",
        with: "mov eax,0Ch\n\
             jmp short 000000000000000Ch\n\
             mov eax,1\n\
             ret\n",
        without: "mov eax,5\n\
             add eax,7\n\
             cmp eax,0Ch\n\
             je short 0000000000000012h\n\
             mov eax,1\n\
             ret\n",
    },
    Example {
        pass: "rotate",
        program: "r0 = r1\n\
             r0 <<= 13\n\
             r1 >>= 51\n\
             r0 |= r1\n\
             exit",
        with: "mov rax,rdi\n\
             rol rax,0Dh\n\
             ret\n",
        without: "mov rax,rdi\n\
             shl rax,0Dh\n\
             shr rdi,33h\n\
             or rax,rdi\n\
             ret\n",
    },
    Example {
        pass: "bytes",
        program: "r0 = *(u8 *)(r1 +0)\n\
             r0 <<= 8\n\
             r2 = *(u8 *)(r1 +1)\n\
             r0 |= r2\n\
             exit",
        with: "movzx eax,word ptr [rdi]\n\
             ror ax,8\n\
             ret\n",
        without: "movzx eax,byte ptr [rdi]\n\
             shl rax,8\n\
             movzx esi,byte ptr [rdi+1]\n\
             or rax,rsi\n\
             ret\n",
    },
    Example {
        pass: "zext",
        program: "r0 = *(u32 *)(r1 +0)\n\
             r0 <<= 32\n\
             r0 >>= 32\n\
             r0 &= 255\n\
             exit",
        with: "mov eax,[rdi]\n\
             movzx eax,al\n\
             ret\n",
        without: "mov eax,[rdi]\n\
             shl rax,20h\n\
             shr rax,20h\n\
             and rax,0FFh\n\
             ret\n",
    },
    Example {
        pass: "copies",
        program: "r2 = r1\n\
             r0 = *(u32 *)(r2 +4)\n\
             exit",
        with: "mov eax,[rdi+4]\n\
             ret\n",
        without: "mov rsi,rdi\n\
             mov eax,[rsi+4]\n\
             ret\n",
    },
    Example {
        pass: "address",
        program: "r2 = r1\n\
             r3 = *(u32 *)(r1 +0)\n\
             r2 += r3\n\
             r0 = *(u8 *)(r2 +4)\n\
             exit",
        with: "mov edx,[rdi]\n\
             movzx eax,byte ptr [rdi+rdx+4]\n\
             ret\n",
        without: "mov rsi,rdi\n\
             mov edx,[rdi]\n\
             add rsi,rdx\n\
             movzx eax,byte ptr [rsi+4]\n\
             ret\n",
    },
    Example {
        pass: "demand",
        program: "r0 = r1\n\
             r2 &= 63\n\
             r0 <<= r2\n\
             r3 = r0\n\
             r3 &= 255\n\
             *(u8 *)(r10 -1) = r3\n\
             exit",
        with: "add rsp,0FFFFFFFFFFFFFE00h\n\
             mov rax,rdi\n\
             shlx rax,rax,rsi\n\
             mov rdx,rax\n\
             mov [rsp+1FFh],dl\n\
             add rsp,200h\n\
             ret\n",
        without: "add rsp,0FFFFFFFFFFFFFE00h\n\
             mov rax,rdi\n\
             and rsi,3Fh\n\
             shlx rax,rax,rsi\n\
             mov rdx,rax\n\
             and rdx,0FFh\n\
             mov [rsp+1FFh],dl\n\
             add rsp,200h\n\
             ret\n",
    },
    // As a slot of the frame; and with what the sum is made of read later, too.
    Example {
        pass: "index",
        program: "r2 &= 15\n\
             r2 <<= 2\n\
             r3 = r10\n\
             r3 += -64\n\
             r3 += r2\n\
             r0 = *(u32 *)(r3 +0)\n\
             r4 = 8\n\
             r4 += r1\n\
             r0 += r4\n\
             exit",
        with: "add rsp,0FFFFFFFFFFFFFE00h\n\
             and rsi,0Fh\n\
             mov eax,[rsp+rsi*4+1C0h]\n\
             mov ecx,8\n\
             add rcx,rdi\n\
             add rax,rcx\n\
             add rsp,200h\n\
             ret\n",
        without: "add rsp,0FFFFFFFFFFFFFE00h\n\
             and rsi,0Fh\n\
             shl rsi,2\n\
             lea rdx,[rsp+200h]\n\
             add rdx,0FFFFFFFFFFFFFFC0h\n\
             add rdx,rsi\n\
             mov eax,[rdx]\n\
             mov ecx,8\n\
             add rcx,rdi\n\
             add rax,rcx\n\
             add rsp,200h\n\
             ret\n",
    },
    // A shifted index of a sum that is read as a number.
    Example {
        pass: "index",
        program: "r3 <<= 2\n\
             r0 = r1\n\
             r0 += r3\n\
             exit",
        with: "lea rax,[rdi+rdx*4]\n\
             ret\n",
        without: "shl rdx,2\n\
             mov rax,rdi\n\
             add rax,rdx\n\
             ret\n",
    },
    // A jump does not end the use of an address, if it is dead where that goes.
    Example {
        pass: "index",
        program: "r0 = 0\n\
             r1 += r2\n\
             r3 = *(u8 *)(r1 +0)\n\
             if r3 == 0 goto out\n\
             r0 = *(u8 *)(r1 +1)\n\
             out:\n\
             exit",
        with: "xor eax,eax\n\
             movzx edx,byte ptr [rdi+rsi]\n\
             test rdx,rdx\n\
             je short 0000000000000010h\n\
             movzx eax,byte ptr [rdi+rsi+1]\n\
             ret\n",
        without: "xor eax,eax\n\
             add rdi,rsi\n\
             movzx edx,byte ptr [rdi]\n\
             test rdx,rdx\n\
             je short 0000000000000011h\n\
             movzx eax,byte ptr [rdi+1]\n\
             ret\n",
    },
    Example {
        pass: "joins",
        program: "r0 = *(u64 *)(r1 +0)\n\
             r2 = *(u64 *)(r1 +8)\n\
             r2 += r0\n\
             r0 = r2\n\
             exit",
        with: "mov rax,[rdi]\n\
             mov rsi,[rdi+8]\n\
             add rax,rsi\n\
             ret\n",
        without: "mov rax,[rdi]\n\
             mov rsi,[rdi+8]\n\
             add rsi,rax\n\
             mov rax,rsi\n\
             ret\n",
    },
    Example {
        pass: "selects",
        program: "r0 = *(u64 *)(r1 +0)\n\
             r2 = *(u64 *)(r1 +8)\n\
             if r0 > r2 goto +1\n\
             r0 = r2\n\
             exit",
        with: "mov rax,[rdi]\n\
             mov rsi,[rdi+8]\n\
             cmp rax,rsi\n\
             cmovbe rax,rsi\n\
             ret\n",
        without: "mov rax,[rdi]\n\
             mov rsi,[rdi+8]\n\
             cmp rax,rsi\n\
             ja short 000000000000000Fh\n\
             mov rax,rsi\n\
             ret\n",
    },
    // Of 32 bits, if the upper half is 0; what is chosen is one of the numbers compared.
    Example {
        pass: "selects",
        program: "r2 = *(u32 *)(r1 +0)\n\
             r3 = *(u32 *)(r1 +8)\n\
             w0 = w2\n\
             if w2 s< w3 goto +1\n\
             w0 = w3\n\
             if r2 > r3 goto +1\n\
             r0 = r4\n\
             exit",
        with: "mov esi,[rdi]\n\
             mov edx,[rdi+8]\n\
             mov eax,esi\n\
             cmp esi,edx\n\
             cmovge eax,edx\n\
             cmp rsi,rdx\n\
             ja short 0000000000000014h\n\
             mov rax,rcx\n\
             ret\n",
        without: "mov esi,[rdi]\n\
             mov edx,[rdi+8]\n\
             mov eax,esi\n\
             cmp esi,edx\n\
             jl short 000000000000000Dh\n\
             mov eax,edx\n\
             cmp rsi,rdx\n\
             ja short 0000000000000015h\n\
             mov rax,rcx\n\
             ret\n",
    },
    // A difference is not turned round; a result of several steps is computed in its place.
    Example {
        pass: "joins",
        program: "r0 = *(u64 *)(r1 +0)\n\
             r2 = *(u64 *)(r1 +8)\n\
             r2 -= r0\n\
             r0 = r2\n\
             w3 = w0\n\
             w3 += 7\n\
             w3 ^= w4\n\
             r0 = r3\n\
             exit",
        with: "mov rax,[rdi]\n\
             mov rsi,[rdi+8]\n\
             sub rsi,rax\n\
             mov rax,rsi\n\
             mov eax,eax\n\
             add eax,7\n\
             xor eax,ecx\n\
             ret\n",
        without: "mov rax,[rdi]\n\
             mov rsi,[rdi+8]\n\
             sub rsi,rax\n\
             mov rax,rsi\n\
             mov edx,eax\n\
             add edx,7\n\
             xor edx,ecx\n\
             mov rax,rdx\n\
             ret\n",
    },
    // The loaded value is the first operand of the comparison.
    Example {
        pass: "fold",
        program: "r0 = 1\n\
             r2 = *(u64 *)(r1 +0)\n\
             if r2 > r3 goto out\n\
             r0 = 0\n\
             out:\n\
             exit",
        with: "mov eax,1\n\
             cmp rdx,[rdi]\n\
             jb short 000000000000000Ch\n\
             xor eax,eax\n\
             ret\n",
        without: "mov eax,1\n\
             mov rsi,[rdi]\n\
             cmp rsi,rdx\n\
             ja short 000000000000000Fh\n\
             xor eax,eax\n\
             ret\n",
    },
    Example {
        pass: "lea",
        program: "r0 = r1\n\
             r0 += 8\n\
             exit",
        with: "lea rax,[rdi+8]\n\
             ret\n",
        without: "mov rax,rdi\n\
             add rax,8\n\
             ret\n",
    },
    Example {
        pass: "slots",
        program: "*(u64 *)(r10 -8) = r1\n\
             r2 = *(u64 *)(r10 -8)\n\
             r3 = *(u64 *)(r10 -8)\n\
             r2 += r3\n\
             *(u64 *)(r10 -8) = r2\n\
             r0 = *(u64 *)(r10 -8)\n\
             exit",
        with: "mov r9,rdi\n\
             mov rsi,r9\n\
             mov rdx,r9\n\
             add rsi,rdx\n\
             mov r9,rsi\n\
             mov rax,r9\n\
             ret\n",
        without: "add rsp,0FFFFFFFFFFFFFE00h\n\
             mov [rsp+1F8h],rdi\n\
             mov rsi,[rsp+1F8h]\n\
             mov rdx,[rsp+1F8h]\n\
             add rsi,rdx\n\
             mov [rsp+1F8h],rsi\n\
             mov rax,[rsp+1F8h]\n\
             add rsp,200h\n\
             ret\n",
    },
    Example {
        pass: "fold",
        program: "r0 = 1\n\
             r2 = *(u64 *)(r1 +0)\n\
             r0 += r2\n\
             r3 = *(u64 *)(r1 +8)\n\
             r3 += 1\n\
             *(u64 *)(r1 +8) = r3\n\
             r4 = *(u64 *)(r1 +16)\n\
             r5 = 5\n\
             r5 += r4\n\
             *(u64 *)(r1 +16) = r5\n\
             exit",
        with: "mov eax,1\n\
             add rax,[rdi]\n\
             add qword ptr [rdi+8],1\n\
             mov r8d,5\n\
             add [rdi+10h],r8\n\
             ret\n",
        without: "mov eax,1\n\
             mov rsi,[rdi]\n\
             add rax,rsi\n\
             mov rdx,[rdi+8]\n\
             add rdx,1\n\
             mov [rdi+8],rdx\n\
             mov rcx,[rdi+10h]\n\
             mov r8d,5\n\
             add r8,rcx\n\
             mov [rdi+10h],r8\n\
             ret\n",
    },
    Example {
        pass: "movbe",
        program: "r0 = *(u32 *)(r1 +0)\n\
             r0 = be32 r0\n\
             r2 = *(u16 *)(r1 +4)\n\
             r2 = be16 r2\n\
             r0 += r2\n\
             r3 = *(u64 *)(r1 +8)\n\
             r3 = bswap64 r3\n\
             r4 = r3\n\
             r4 += r2\n\
             r4 = be64 r4\n\
             *(u64 *)(r1 +8) = r4\n\
             r0 += r3\n\
             exit",
        with: "movbe eax,[rdi]\n\
             movzx esi,word ptr [rdi+4]\n\
             ror si,8\n\
             add rax,rsi\n\
             movbe rdx,[rdi+8]\n\
             mov rcx,rdx\n\
             add rcx,rsi\n\
             movbe [rdi+8],rcx\n\
             add rax,rdx\n\
             ret\n",
        without: "mov eax,[rdi]\n\
             bswap eax\n\
             movzx esi,word ptr [rdi+4]\n\
             ror si,8\n\
             movzx esi,si\n\
             add rax,rsi\n\
             mov rdx,[rdi+8]\n\
             bswap rdx\n\
             mov rcx,rdx\n\
             add rcx,rsi\n\
             bswap rcx\n\
             mov [rdi+8],rcx\n\
             add rax,rdx\n\
             ret\n",
    },
    Example {
        pass: "magic",
        program: "r0 = r1\n\
             w0 /= 10\n\
             exit",
        with: "mov rax,rdi\n\
             mov r11d,eax\n\
             mov r10d,0CCCCCCCDh\n\
             imul r11,r10\n\
             shr r11,23h\n\
             mov eax,r11d\n\
             ret\n",
        without: "mov rax,rdi\n\
             mov r11d,0Ah\n\
             xor edx,edx\n\
             div r11d\n\
             ret\n",
    },
    Example {
        pass: "flags",
        program: "r0 = 0\n\
             again:\n\
             r0 += r1\n\
             r1 += -1\n\
             if r1 != 0 goto again\n\
             exit",
        with: "xor eax,eax\n\
             add rax,rdi\n\
             add rdi,0FFFFFFFFFFFFFFFFh\n\
             jne short 2\n\
             ret\n",
        without: "xor eax,eax\n\
             add rax,rdi\n\
             add rdi,0FFFFFFFFFFFFFFFFh\n\
             test rdi,rdi\n\
             jne short 2\n\
             ret\n",
    },
    Example {
        pass: "guards",
        program: "r0 = *(u64 *)(r1 +0)\n\
             r0 /= r2\n\
             w0 %= w2\n\
             exit",
        with: "mov rax,[rdi]\n\
             test rsi,rsi\n\
             je short 0000000000000019h\n\
             xor edx,edx\n\
             div rsi\n\
             test esi,esi\n\
             je short 000000000000001Dh\n\
             xor edx,edx\n\
             div esi\n\
             mov rax,rdx\n\
             ret\n\
             xor eax,eax\n\
             jmp short 000000000000000Dh\n\
             mov eax,eax\n\
             jmp short 0000000000000018h\n",
        without: "mov rax,[rdi]\n\
             test rsi,rsi\n\
             jne short 000000000000000Ch\n\
             xor eax,eax\n\
             jmp short 0000000000000016h\n\
             test rsi,rsi\n\
             je short 000000000000002Ah\n\
             xor edx,edx\n\
             div rsi\n\
             test esi,esi\n\
             je short 0000000000000027h\n\
             test esi,esi\n\
             je short 000000000000002Eh\n\
             xor edx,edx\n\
             div esi\n\
             mov rax,rdx\n\
             jmp short 0000000000000029h\n\
             mov eax,eax\n\
             ret\n\
             xor eax,eax\n\
             jmp short 0000000000000016h\n\
             mov eax,eax\n\
             jmp short 0000000000000025h\n",
    },
    Example {
        pass: "signs",
        program: "r0 = *(u8 *)(r1 +0)\n\
             r2 = (s8)r0\n\
             if r2 s< 0 goto out\n\
             r0 += 1\n\
             out:\n\
             exit",
        with: "movzx eax,byte ptr [rdi]\n\
             test al,80h\n\
             jne short 000000000000000Ch\n\
             add rax,1\n\
             ret\n",
        without: "movzx eax,byte ptr [rdi]\n\
             movsx rsi,al\n\
             test rsi,rsi\n\
             jl short 0000000000000010h\n\
             add rax,1\n\
             ret\n",
    },
    Example {
        pass: "words",
        program: "r2 = *(u8 *)(r1 +6)\n\
             *(u8 *)(r1 +64) = r2\n\
             r2 = *(u8 *)(r1 +7)\n\
             *(u8 *)(r1 +65) = r2\n\
             r3 = *(u8 *)(r1 +32)\n\
             r2 = *(u16 *)(r1 +8)\n\
             *(u16 *)(r1 +66) = r2\n\
             r0 = *(u8 *)(r1 +1)\n\
             *(u8 *)(r1 +2) = r0\n\
             r0 = *(u8 *)(r1 +2)\n\
             *(u8 *)(r1 +3) = r0\n\
             r0 = r3\n\
             exit",
        with: "movzx edx,byte ptr [rdi+20h]\n\
             mov esi,[rdi+6]\n\
             mov [rdi+40h],esi\n\
             movzx eax,byte ptr [rdi+1]\n\
             mov [rdi+2],al\n\
             movzx eax,byte ptr [rdi+2]\n\
             mov [rdi+3],al\n\
             mov rax,rdx\n\
             ret\n",
        without: "movzx esi,byte ptr [rdi+6]\n\
             mov [rdi+40h],sil\n\
             movzx esi,byte ptr [rdi+7]\n\
             mov [rdi+41h],sil\n\
             movzx edx,byte ptr [rdi+20h]\n\
             movzx esi,word ptr [rdi+8]\n\
             mov [rdi+42h],si\n\
             movzx eax,byte ptr [rdi+1]\n\
             mov [rdi+2],al\n\
             movzx eax,byte ptr [rdi+2]\n\
             mov [rdi+3],al\n\
             mov rax,rdx\n\
             ret\n",
    },
    Example {
        pass: "fills",
        program: "r0 = *(u64 *)(r10 -32)\n\
             *(u64 *)(r10 -8) = 0\n\
             *(u64 *)(r10 -16) = 0\n\
             exit",
        with: "add rsp,0FFFFFFFFFFFFFE00h\n\
             mov rax,[rsp+1E0h]\n\
             xorps xmm0,xmm0\n\
             movups [rsp+1F0h],xmm0\n\
             add rsp,200h\n\
             ret\n",
        without: "add rsp,0FFFFFFFFFFFFFE00h\n\
             mov rax,[rsp+1E0h]\n\
             mov qword ptr [rsp+1F8h],0\n\
             mov qword ptr [rsp+1F0h],0\n\
             add rsp,200h\n\
             ret\n",
    },
    // A load moves up to where its address is computed, before an operand is overwritten.
    Example {
        pass: "index",
        program: "r1 += r2\n\
             r2 = r3\n\
             r2 += 7\n\
             r0 = *(u8 *)(r1 +0)\n\
             r0 += r2\n\
             exit",
        with: "movzx eax,byte ptr [rdi+rsi]\n\
             mov rsi,rdx\n\
             add rsi,7\n\
             add rax,rsi\n\
             ret\n",
        without: "add rdi,rsi\n\
             mov rsi,rdx\n\
             add rsi,7\n\
             movzx eax,byte ptr [rdi]\n\
             add rax,rsi\n\
             ret\n",
    },
    // Not if the load adds the new value of the operand.
    Example {
        pass: "index",
        program: "r5 = r4\n\
             r4 = *(u8 *)(r2 +0)\n\
             r5 += r4\n\
             r0 = *(u8 *)(r5 +0)\n\
             exit",
        with: "mov r8,rcx\n\
             movzx ecx,byte ptr [rsi]\n\
             movzx eax,byte ptr [r8+rcx]\n\
             ret\n",
        without: "mov r8,rcx\n\
             movzx ecx,byte ptr [rsi]\n\
             add r8,rcx\n\
             movzx eax,byte ptr [r8]\n\
             ret\n",
    },
    // What overwrites an operand goes to another register.
    Example {
        pass: "index",
        program: "r1 += r2\n\
             r2 = *(u32 *)(r3 +0)\n\
             *(u32 *)(r1 +0) = r2\n\
             r0 = 0\n\
             exit",
        with: "mov eax,[rdx]\n\
             mov [rdi+rsi],eax\n\
             xor eax,eax\n\
             ret\n",
        without: "add rdi,rsi\n\
             mov esi,[rdx]\n\
             mov [rdi],esi\n\
             xor eax,eax\n\
             ret\n",
    },
    // Of a multiplication, the power of two is in the address.
    Example {
        pass: "index",
        program: "r2 *= 24\n\
             r1 += r2\n\
             r0 = *(u64 *)(r1 +8)\n\
             exit",
        with: "imul rsi,3\n\
             mov rax,[rdi+rsi*8+8]\n\
             ret\n",
        without: "imul rsi,18h\n\
             add rdi,rsi\n\
             mov rax,[rdi+8]\n\
             ret\n",
    },
    // The register of the address is gone, what it was made of is not.
    Example {
        pass: "bytes",
        program: "r2 = r1\n\
             r2 += r3\n\
             r0 = *(u8 *)(r2 +0)\n\
             r2 = *(u8 *)(r2 +1)\n\
             r2 <<= 8\n\
             r0 |= r2\n\
             exit",
        with: "movzx eax,word ptr [rdi+rdx]\n\
             ret\n",
        without: "mov rsi,rdi\n\
             add rsi,rdx\n\
             movzx eax,byte ptr [rsi]\n\
             movzx esi,byte ptr [rsi+1]\n\
             shl rsi,8\n\
             or rax,rsi\n\
             ret\n",
    },
    // Bits that are compared with 0.
    Example {
        pass: "signs",
        program: "r0 = 0\n\
             r2 = r1\n\
             r2 &= 6\n\
             if r2 == 0 goto out\n\
             r0 = 1\n\
             out:\n\
             exit",
        with: "xor eax,eax\n\
             test dil,6\n\
             je short 000000000000000Dh\n\
             mov eax,1\n\
             ret\n",
        without: "xor eax,eax\n\
             mov rsi,rdi\n\
             and rsi,6\n\
             test rsi,rsi\n\
             je short 0000000000000013h\n\
             mov eax,1\n\
             ret\n",
    },
    // The outcome of a comparison that is only compared.
    Example {
        pass: "selects",
        program: "r0 = 0\n\
             w3 = 1\n\
             if r1 > r2 goto +1\n\
             w3 = 0\n\
             w4 &= 1\n\
             if w4 == w3 goto +1\n\
             r0 = 1\n\
             exit",
        with: "xor eax,eax\n\
             xor edx,edx\n\
             cmp rdi,rsi\n\
             seta dl\n\
             and ecx,1\n\
             cmp ecx,edx\n\
             je short 0000000000000016h\n\
             mov eax,1\n\
             ret\n",
        without: "xor eax,eax\n\
             mov edx,1\n\
             cmp rdi,rsi\n\
             ja short 000000000000000Eh\n\
             xor edx,edx\n\
             and ecx,1\n\
             cmp ecx,edx\n\
             je short 000000000000001Ah\n\
             mov eax,1\n\
             ret\n",
    },
];
