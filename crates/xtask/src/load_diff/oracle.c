/* What the real libbpf says of objects: opens and loads each, the whole and program by program.
 *
 * Linked with `--wrap=syscall`. Maps and BTF go to the kernel, whose answer counts. Programs do
 * not: `BPF_PROG_LOAD` of the object's programs is answered here, so that no program runs, none
 * is attached or pinned, and none that the kernel cannot stand is shown to it.
 *
 * Input: one object a line. Output: lines of fields separated by tabs, a file's end with "end".
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX (64 << 10)

/* Calls of helpers that do not exist, which libbpf writes where something is not resolved. */
#define CORE_POISON 195896080
#define MAP_POISON 2001000000
#define KFUNC_POISON 2002000000
#define HASH_START 0xcbf29ce484222325

static struct bpf_object *object;
/* The program that is loaded alone, if one is. */
static struct bpf_program *noted;
static char warnings[TEXT_MAX];
static char loaded[TEXT_MAX];
static char failed_call[64];

extern long __real_syscall(long number, ...);

/* By its name, or by its insns: a program may have no name. */
static bool is_of_object(const char *name, const void *insns)
{
	struct bpf_program *prog;

	if (!object)
		return false;
	bpf_object__for_each_program(prog, object) {
		if (name[0] && !strncmp(bpf_program__name(prog), name, BPF_OBJ_NAME_LEN - 1))
			return true;
		if (bpf_program__insns(prog) == insns)
			return true;
	}
	return false;
}

static bool get_map_info(int fd, struct bpf_map_info *info)
{
	union bpf_attr attr = {};

	memset(info, 0, sizeof(*info));
	attr.info.bpf_fd = fd;
	attr.info.info_len = sizeof(*info);
	attr.info.info = (unsigned long)info;
	return !__real_syscall(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
}

/* Slots of program arrays cannot take the descriptors that stand for programs here. */
static bool is_prog_array(int fd)
{
	struct bpf_map_info info;

	return get_map_info(fd, &info) && info.type == BPF_MAP_TYPE_PROG_ARRAY;
}

static void add(char *text, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, TEXT_MAX - used, format, args);
	va_end(args);
}

/* FNV-1a. */
static unsigned long hash_of(unsigned long hash, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
	return hash;
}

/* Before an object is loaded, libbpf does not tell which map has which descriptor. */
static int name_of_map(int fd)
{
	struct bpf_map_info info;

	return get_map_info(fd, &info) ? (int)hash_of(HASH_START, info.name, strlen(info.name)) : -1;
}

/* Maps count by their name; what is in a module, not at all. */
static unsigned long hash_of_insns(const struct bpf_insn *insns, unsigned int count)
{
	unsigned long hash = HASH_START;

	for (unsigned int i = 0; i < count; i++) {
		struct bpf_insn insn = insns[i];

		if (insn.code == (BPF_LD | BPF_IMM | BPF_DW) && (insn.src_reg == 1 || insn.src_reg == 2))
			insn.imm = name_of_map(insn.imm);
		if (insn.code == (BPF_JMP | BPF_CALL) && insn.src_reg == 2 && insn.off)
			insn.imm = insn.off = 0;
		hash = hash_of(hash, &insn, sizeof(insn));
	}
	return hash;
}

/* The fields that every version has. */
static unsigned long hash_of_records(unsigned long records, unsigned int count, unsigned int size,
				     unsigned int known)
{
	unsigned long hash = HASH_START;

	for (unsigned int i = 0; i < count; i++)
		hash = hash_of(hash, (const char *)records + i * size, known);
	return hash;
}

/* Notes the maps as the kernel has them, and the data in those that stand for sections. */
static void note_maps(void)
{
	struct bpf_map_info info;
	struct bpf_map *map;

	loaded[0] = 0;
	bpf_object__for_each_map(map, object) {
		size_t size = 0;
		const void *value = NULL;

		if (!get_map_info(bpf_map__fd(map), &info))
			continue;
		if (info.type == BPF_MAP_TYPE_ARRAY)
			value = bpf_map__initial_value(map, &size);
		add(loaded, "%s:%u:%u:%u:%u:%x:%llx:%u:%u:%lx ", info.name, info.type, info.key_size,
		    info.value_size, info.type == BPF_MAP_TYPE_PERF_EVENT_ARRAY ? 0 : info.max_entries,
		    info.map_flags,
		    (unsigned long long)info.map_extra, info.btf_key_type_id, info.btf_value_type_id,
		    value ? hash_of(HASH_START, value, size) : 0);
	}
}

/* Notes what the program is loaded as, and which of its insns are not resolved. */
static void note_program(const union bpf_attr *attr)
{
	const struct bpf_insn *insns = (const void *)(unsigned long)attr->insns;

	loaded[0] = 0;
	add(loaded, "type=%u attach=%u flags=%u target=%u insns=%u:%lx funcs=%u:%lx lines=%u:%lx license=%s poison=",
	    attr->prog_type, attr->expected_attach_type, attr->prog_flags, attr->attach_btf_id,
	    attr->insn_cnt, hash_of_insns(insns, attr->insn_cnt), attr->func_info_cnt,
	    hash_of_records(attr->func_info, attr->func_info_cnt, attr->func_info_rec_size, 8),
	    attr->line_info_cnt,
	    hash_of_records(attr->line_info, attr->line_info_cnt, attr->line_info_rec_size, 16),
	    (const char *)(unsigned long)attr->license);
	for (unsigned int i = 0; i < attr->insn_cnt; i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg)
			continue;
		if (insns[i].imm == CORE_POISON)
			add(loaded, "%u:core,", i);
		else if (insns[i].imm >= KFUNC_POISON)
			add(loaded, "%u:kfunc,", i);
		else if (insns[i].imm >= MAP_POISON)
			add(loaded, "%u:map,", i);
	}
}

static long answer_bpf(int cmd, union bpf_attr *attr, unsigned int size)
{
	const void *insns;
	long ret;

	switch (cmd) {
	case BPF_PROG_LOAD:
		insns = (const void *)(unsigned long)attr->insns;
		if (is_of_object(attr->prog_name, insns)) {
			if (!noted || insns == bpf_program__insns(noted))
				note_program(attr);
			return open("/dev/null", O_RDONLY | O_CLOEXEC);
		}
		break;
	case BPF_MAP_UPDATE_ELEM:
		if (is_prog_array(attr->map_fd))
			return 0;
		break;
	case BPF_PROG_BIND_MAP:
		return 0;
	case BPF_OBJ_PIN:
	case BPF_LINK_CREATE:
	case BPF_PROG_ATTACH:
	case BPF_RAW_TRACEPOINT_OPEN:
		errno = EBADF;
		return -1;
	case BPF_OBJ_GET:
		errno = ENOENT;
		return -1;
	}
	ret = __real_syscall(__NR_bpf, cmd, attr, size);
	if (ret < 0) {
		int saved = errno;

		snprintf(failed_call, sizeof(failed_call), "%d:%d", cmd, saved);
		errno = saved;
	}
	return ret;
}

long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == __NR_bpf)
		return answer_bpf(a[0], (union bpf_attr *)a[1], a[2]);
	/* A probe of libbpf would place a kprobe. */
	if (number == __NR_perf_event_open) {
		errno = ENOENT;
		return -1;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Warnings in one line: what separates fields becomes a space, lines are joined by bars. Without the
 * kernel's log of BTF, which has names of the object, and may be longer than all that is kept. */
static int keep_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	size_t used = strlen(warnings);
	char *at = warnings + used;

	if (level != LIBBPF_WARN || used + 1 >= TEXT_MAX || strstr(format, "BEGIN BTF LOAD LOG"))
		return 0;
	vsnprintf(at, TEXT_MAX - used, format, args);
	for (; *at; at++)
		*at = *at == '\n' ? '|' : *at == '\t' ? ' ' : *at;
	return 0;
}

static bool needs_no_entries(struct bpf_map *map)
{
	switch ((int)bpf_map__type(map)) {
	case BPF_MAP_TYPE_SK_STORAGE:
	case BPF_MAP_TYPE_TASK_STORAGE:
	case BPF_MAP_TYPE_INODE_STORAGE:
	case BPF_MAP_TYPE_CGROUP_STORAGE:
	case BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE:
	case BPF_MAP_TYPE_STRUCT_OPS:
	case 32: /* BPF_MAP_TYPE_CGRP_STORAGE */
		return true;
	default:
		return false;
	}
}

/* What a tool does that loads programs only to have them verified. */
static void prepare(bool whole, struct bpf_program *only)
{
	struct bpf_program *prog;
	struct bpf_map *map;

	noted = only;
	bpf_object__for_each_map(map, object) {
		bpf_map__set_pin_path(map, NULL);
		if (!bpf_map__max_entries(map) && !needs_no_entries(map))
			bpf_map__set_max_entries(map, 1);
	}
	bpf_object__for_each_program(prog, object) {
		if (!whole)
			bpf_program__set_autoload(prog, prog == only);
		/* Without its target it has the type of something else: of one for which libbpf reads the
		 * kernel's BTF, where it looks for the target, whether or not it has read that. */
		if (bpf_program__type(prog) == BPF_PROG_TYPE_EXT) {
			bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING);
			bpf_program__set_expected_attach_type(prog, 0);
		}
	}
}

static bool open_object(const char *path)
{
	warnings[0] = loaded[0] = failed_call[0] = 0;
	noted = NULL;
	errno = 0;
	object = bpf_object__open_file(path, NULL);
	return object != NULL;
}

static void say(const char *what, const char *name, int err)
{
	/* A license can be anything. */
	for (char *at = loaded; *at; at++)
		*at = *at == '\n' || *at == '\t' ? ' ' : *at;
	printf("%s\t%s\t%d\t%s\t%s\t%s\n", what, name, err, failed_call, loaded, warnings);
}

static struct bpf_program *nth_program(int n)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object)
		if (n-- == 0)
			return prog;
	return NULL;
}

static void judge(const char *path)
{
	struct bpf_program *prog;
	int err;

	if (!open_object(path)) {
		say("open", "", -errno);
		return;
	}
	prepare(true, NULL);
	err = bpf_object__load(object);
	note_maps();
	say("whole", "", err);
	bpf_object__close(object);
	for (int n = 0; open_object(path); n++) {
		prog = nth_program(n);
		if (!prog) {
			bpf_object__close(object);
			break;
		}
		prepare(false, prog);
		failed_call[0] = 0;
		err = bpf_object__load(object);
		say("prog", bpf_program__name(prog), err);
		bpf_object__close(object);
	}
}

/* In a process of its own: what one file does to libbpf ends with it. */
static void judge_apart(const char *path)
{
	int status;
	pid_t child;

	printf("file\t%s\n", path);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		alarm(120);
		judge(path);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("end\t%s\n", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
	fflush(stdout);
}

int main(void)
{
	char path[4096];

	libbpf_set_print(keep_warning);
	printf("libbpf\t%u.%u\n", libbpf_major_version(), libbpf_minor_version());
	while (fgets(path, sizeof(path), stdin)) {
		path[strcspn(path, "\n")] = 0;
		judge_apart(path);
	}
	return 0;
}
