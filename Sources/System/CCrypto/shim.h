#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

// BIO_get_mem_data is a macro around the untyped BIO_ctrl.
static inline long hc_bio_memory(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }
